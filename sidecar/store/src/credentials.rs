//! Where URL, user, password, CA and install key come from, and noticing that they changed.
//!
//! A mounted Secret is swapped as a whole by its `..data` link, may appear late, and may be wrong for a while: so
//! it is read again before each connection and whenever it changes, and a fault in it is a state, not an end.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::address::{Address, Endpoint, InvalidStore};
use crate::key::InstallKey;

/// The names inside the folder; what else lies there is not read.
const FILES: [&str; 5] = ["url", "user", "password", "ca.crt", "install-key"];
/// A Secret is far smaller: a larger file is a mistake, and is not read into memory.
const FILE_MAX: u64 = 1 << 20;

/// Where the store's credentials are found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// Only what the URL says.
    #[default]
    None,
    /// A folder as a mounted Secret `weir-store` is: files `url`, `user`, `password`, `ca.crt`, `install-key`,
    /// each optional; it may appear later and change at any time.
    Folder(PathBuf),
    /// Single files, read again for each connection.
    Files {
        /// The password, a trailing line end not being part of it.
        password: Option<PathBuf>,
        /// The CAs of the server's certificate, PEM.
        ca: Option<PathBuf>,
    },
}

/// All that it takes to connect.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) install_key: InstallKey,
}

/// A cheap mark that changes when the credentials may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Vec<Option<(SystemTime, u64, PathBuf)>>);

/// The URL of the command line, if there is one, and the credentials: read together into a [`Target`].
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) credentials: Credentials,
}

impl Source {
    /// What to connect to now; None while there is no URL.
    pub(crate) fn read(&self) -> Result<Option<Target>, InvalidStore> {
        match &self.credentials {
            Credentials::None => {
                Ok(self.endpoint.clone().map(|endpoint| Target { endpoint, ca: None, install_key: InstallKey::ZEROS }))
            }
            Credentials::Files { password, ca } => self.read_files(password.as_deref(), ca.as_deref()),
            Credentials::Folder(folder) => self.read_folder(folder),
        }
    }

    /// Files that can't be looked at count as absent.
    pub(crate) fn stamp(&self) -> Stamp {
        let look = |path: &Path| {
            let meta = std::fs::metadata(path).ok()?;
            let link = std::fs::read_link(path).unwrap_or_default();
            Some((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len(), link))
        };
        Stamp(match &self.credentials {
            Credentials::None => Vec::new(),
            Credentials::Files { password, ca } => password.iter().chain(ca).map(|path| look(path)).collect(),
            Credentials::Folder(folder) => {
                std::iter::once("..data").chain(FILES).map(|name| look(&folder.join(name))).collect()
            }
        })
    }

    fn read_files(&self, password: Option<&Path>, ca: Option<&Path>) -> Result<Option<Target>, InvalidStore> {
        let Some(mut endpoint) = self.endpoint.clone() else { return Ok(None) };
        if let Some(path) = password {
            endpoint.password = Some(required_text(path)?);
        }
        let ca = ca.map(required).transpose()?;
        Ok(Some(Target { endpoint, ca, install_key: InstallKey::ZEROS }))
    }

    fn read_folder(&self, folder: &Path) -> Result<Option<Target>, InvalidStore> {
        // a swap between two reads would mix two versions: look at the link before and after
        for _ in 0..5 {
            let before = std::fs::read_link(folder.join("..data")).ok();
            let target = self.read_version(folder);
            if before == std::fs::read_link(folder.join("..data")).ok() {
                return target;
            }
        }
        Err(InvalidStore::new(folder.display().to_string(), "changes faster than it can be read"))
    }

    fn read_version(&self, folder: &Path) -> Result<Option<Target>, InvalidStore> {
        let text = |name: &str| optional_text(&folder.join(name));
        let field = |name: &str| folder.join(name).display().to_string();
        let mut endpoint = match (&self.endpoint, text("url")?) {
            (Some(endpoint), _) => endpoint.clone(),
            (None, None) => return Ok(None),
            (None, Some(url)) => match Address::parse(&field("url"), url.trim())? {
                Address::Redis(endpoint) => endpoint,
                Address::Memory => {
                    return Err(InvalidStore::new(field("url"), "must be redis:// or rediss://, since pods share it"));
                }
            },
        };
        endpoint.user = text("user")?.or(endpoint.user);
        endpoint.password = text("password")?.or(endpoint.password);
        let install_key = match text("install-key")? {
            Some(key) => InstallKey::from_base64(&key)
                .map_err(|_| InvalidStore::new(field("install-key"), "must be the base64 of exactly 32 bytes"))?,
            None => InstallKey::ZEROS,
        };
        let ca = optional(&folder.join("ca.crt"))?.filter(|pem| !pem.is_empty());
        Ok(Some(Target { endpoint, ca, install_key }))
    }
}

/// A file's bytes; None if there is no such file.
fn optional(path: &Path) -> Result<Option<Vec<u8>>, InvalidStore> {
    let fault = |message: String| InvalidStore::new(path.display().to_string(), message);
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > FILE_MAX => return Err(fault(format!("must not be larger than {FILE_MAX} bytes"))),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fault(format!("can't be read: {error}"))),
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(format!("can't be read: {error}"))),
    }
}

/// A file's text without its trailing line end; None if there is no such file or it is empty.
fn optional_text(path: &Path) -> Result<Option<String>, InvalidStore> {
    let Some(bytes) = optional(path)? else { return Ok(None) };
    let text =
        String::from_utf8(bytes).map_err(|_| InvalidStore::new(path.display().to_string(), "must be UTF-8 text"))?;
    let text = text.trim_end_matches(['\r', '\n']);
    Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
}

fn required(path: &Path) -> Result<Vec<u8>, InvalidStore> {
    optional(path)?.ok_or_else(|| InvalidStore::new(path.display().to_string(), "there is no such file"))
}

fn required_text(path: &Path) -> Result<String, InvalidStore> {
    optional_text(path)?
        .ok_or_else(|| InvalidStore::new(path.display().to_string(), "there is no such file, or it is empty"))
}

#[cfg(test)]
mod tests;
