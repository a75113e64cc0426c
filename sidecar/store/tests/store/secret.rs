//! A mounted Secret, changed as the kubelet changes it: a new folder, then one rename of the `..data` link.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub(crate) struct Secret {
    dir: TempDir,
    versions: u32,
}

impl Secret {
    /// A mount point that holds nothing yet.
    pub(crate) fn absent() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), versions: 0 }
    }

    pub(crate) fn holding(files: &[(&str, &str)]) -> Self {
        let mut secret = Self::absent();
        secret.swap(files);
        secret
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub(crate) fn swap(&mut self, files: &[(&str, &str)]) {
        self.versions += 1;
        let (folder, version) = (self.folder(), format!("..{}", self.versions));
        fs::create_dir_all(folder.join(&version)).unwrap();
        for (name, text) in files {
            fs::write(folder.join(&version).join(name), text).unwrap();
            if fs::symlink_metadata(folder.join(name)).is_err() {
                symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
            }
        }
        let old = fs::read_link(folder.join("..data")).ok();
        symlink(&version, folder.join("..data_tmp")).unwrap();
        fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
        if let Some(old) = old {
            fs::remove_dir_all(folder.join(old)).unwrap();
        }
    }
}
