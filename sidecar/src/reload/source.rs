//! Where policies come from on disk: a file of RateLimitPolicy documents, or a folder that Kubernetes mounts. Reading only;
//! what the text means is decided elsewhere.
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The document's name in a mounted folder, and with it its format.
const DOCUMENT: &str = "v1";
/// A ConfigMap ends at 1 MiB; a local file may be a little larger before it is refused by name.
const MAX_READ: u64 = 4 << 20;

/// What is read, again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file as for `kubectl apply`.
    File {
        /// The file.
        policy: PathBuf,
        /// A file of labels beside it, if selectors count.
        labels: Option<PathBuf>,
    },
    /// A mounted folder: `v1`, `labels`, `revision`.
    Folder {
        /// The folder.
        policy: PathBuf,
        /// The file of labels.
        labels: PathBuf,
    },
}

/// One look at the disk. Two that are equal mean the same policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// The document's text, `None` when it isn't there.
    pub document: Result<Option<String>, String>,
    /// The labels' text, `None` when no file of them is named or it isn't there.
    pub labels: Result<Option<String>, String>,
    /// The revision that the operator put on the pod.
    pub revision: Option<String>,
}

impl Source {
    /// Tells file from folder.
    ///
    /// # Errors
    /// When nothing is there: then the flag is wrong.
    pub fn open(policy: &Path, labels: Option<&Path>) -> Result<Self, String> {
        let there = fs::metadata(policy).map_err(|error| {
            format!(
                "--policy {}: {error}; name a file of RateLimitPolicy documents or a mounted folder",
                policy.display()
            )
        })?;
        let policy = policy.to_path_buf();
        Ok(if there.is_dir() {
            let labels = labels.map_or_else(|| policy.join("labels"), Path::to_path_buf);
            Self::Folder { policy, labels }
        } else {
            Self::File { policy, labels: labels.map(Path::to_path_buf) }
        })
    }

    /// The path as the user gave it.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::File { policy, .. } | Self::Folder { policy, .. } => policy,
        }
    }

    /// Every folder in which a change may show. Folders, since a file that is replaced, or a mounted folder's `..data`
    /// link, is a change of the folder and not of the file.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let parent = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let mut folders = match self {
            Self::File { policy, labels } => {
                std::iter::once(parent(policy)).chain(labels.as_deref().map(parent)).collect::<Vec<_>>()
            }
            Self::Folder { policy, labels } => vec![policy.clone(), parent(labels)],
        };
        folders.dedup();
        folders
    }

    /// Reads all of it. Of a mounted folder all files come from one `..data`, so never some from before a swap.
    #[must_use]
    pub fn read(&self) -> Reading {
        match self {
            Self::File { policy, labels } => {
                Reading { document: read(policy), labels: labels.as_deref().map_or(Ok(None), read), revision: None }
            }
            Self::Folder { policy, labels } => {
                let data = policy.join("..data");
                let data = fs::read_link(&data).map_or_else(|_| policy.clone(), |target| policy.join(target));
                let labels = match labels.strip_prefix(policy) {
                    Ok(inside) => data.join(inside),
                    Err(_) => labels.clone(),
                };
                let revision = read(&data.join("revision")).ok().flatten();
                Reading {
                    document: read(&data.join(DOCUMENT)),
                    labels: read(&labels),
                    revision: revision.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
                }
            }
        }
    }

    /// Changes when the content may have changed; cheap, for looking often where no notice comes from the kernel.
    #[must_use]
    pub fn stamp(&self) -> Vec<(u64, u64, i64, i64)> {
        let files = match self {
            Self::File { policy, labels } => vec![Some(policy.clone()), labels.clone()],
            Self::Folder { policy, labels } => vec![Some(policy.join(DOCUMENT)), Some(labels.clone())],
        };
        let stamp = |file: PathBuf| fs::metadata(file).map(|m| (m.dev(), m.ino(), m.ctime(), m.ctime_nsec()));
        files.into_iter().flatten().map(|file| stamp(file).unwrap_or_default()).collect()
    }
}

fn read(path: &Path) -> Result<Option<String>, String> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let mut text = String::new();
    let read =
        file.take(MAX_READ + 1).read_to_string(&mut text).map_err(|error| format!("{}: {error}", path.display()))?;
    if read as u64 > MAX_READ {
        return Err(format!("{}: is larger than {} MiB", path.display(), MAX_READ >> 20));
    }
    Ok(Some(text))
}
