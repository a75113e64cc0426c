//! What every namespace's Secret `weir-store` holds: how its sidecars reach the store. Read from the operator's own files, and
//! again when they change. Has no client.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use weir_store::InstallKey;

use crate::document::MANAGED_BY;

/// Name of the Secret in each namespace; the injected pods mount it.
pub(crate) const SECRET: &str = "weir-store";
/// The largest file that is read, in bytes: what a Secret can hold.
const LARGEST_FILE: u64 = 1024 * 1024;

/// Where the contents come from.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) url: String,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) install_key_file: PathBuf,
}

/// The contents: equal when a Secret needs no rewriting.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct StoreSecret {
    entries: BTreeMap<&'static str, Vec<u8>>,
    install_key: InstallKey,
}

/// A file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum InvalidStoreSecret {
    /// It can't be read.
    #[error("{flag} {file}: {source}", file = file.display())]
    Unreadable {
        /// The flag that named it.
        flag: &'static str,
        /// The file.
        file: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is read, and holds something else.
    #[error("{flag} {file}: {right}", file = file.display())]
    Wrong {
        /// The flag that named it.
        flag: &'static str,
        /// The file.
        file: PathBuf,
        /// What would be right.
        right: &'static str,
    },
}

// === impl Source ===

impl Source {
    /// Reads the files.
    ///
    /// # Errors
    /// The first one that can't be used, by its flag.
    pub(crate) fn read(&self) -> Result<StoreSecret, InvalidStoreSecret> {
        let mut entries = BTreeMap::from([("url", self.url.clone().into_bytes())]);
        if let Some(file) = &self.password_file {
            let text = read_text("--redis-password-file", file)?;
            entries.insert("password", text.into_bytes());
        }
        if let Some(file) = &self.ca_file {
            let pem = read_text("--redis-ca-file", file)?;
            if !pem.contains("-----BEGIN CERTIFICATE-----") {
                let right = "must hold certificates in PEM (-----BEGIN CERTIFICATE-----)";
                return Err(InvalidStoreSecret::Wrong { flag: "--redis-ca-file", file: file.clone(), right });
            }
            entries.insert("ca.crt", pem.into_bytes());
        }
        let (flag, file) = ("--install-key-file", &self.install_key_file);
        let text = read_text(flag, file)?;
        let install_key = InstallKey::from_base64(&text).map_err(|_| InvalidStoreSecret::Wrong {
            flag,
            file: file.clone(),
            right: "must hold the base64 of exactly 32 bytes; make one with `head -c 32 /dev/urandom | base64`",
        })?;
        entries.insert("install-key", text.into_bytes());
        Ok(StoreSecret { entries, install_key })
    }
}

/// A file's text without the line end behind it.
fn read_text(flag: &'static str, file: &Path) -> Result<String, InvalidStoreSecret> {
    let unreadable = |source| InvalidStoreSecret::Unreadable { flag, file: file.to_owned(), source };
    let wrong = |right| InvalidStoreSecret::Wrong { flag, file: file.to_owned(), right };
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    opened.take(LARGEST_FILE + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(wrong("must not be larger than 1 MiB"));
    }
    let text = text.trim_end_matches(['\n', '\r']);
    if text.is_empty() {
        return Err(wrong("must not be empty"));
    }
    Ok(text.to_owned())
}

// === impl StoreSecret ===

impl StoreSecret {
    /// [`InstallKey::id`] of the install key: sidecars report it.
    pub(crate) fn install_key_id(&self) -> String {
        self.install_key.id()
    }

    /// The Secret as it is applied.
    pub(crate) fn to_object(&self, namespace: &str) -> Value {
        let data: serde_json::Map<String, Value> =
            self.entries.iter().map(|(name, bytes)| ((*name).to_owned(), STANDARD.encode(bytes).into())).collect();
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": SECRET,
                "namespace": namespace,
                "labels": {MANAGED_BY.0: MANAGED_BY.1, "app.kubernetes.io/part-of": "weir"},
            },
            "type": "Opaque",
            "data": data,
        })
    }
}

impl std::fmt::Debug for StoreSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StoreSecret({:?}, install key {})", self.entries.keys(), self.install_key_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

    struct Files(tempfile::TempDir);

    impl Files {
        fn source(&self, files: &[(&str, &str)]) -> Source {
            for (name, text) in files {
                std::fs::write(self.0.path().join(name), text).unwrap();
            }
            let path = |name: &str| files.iter().any(|(n, _)| *n == name).then(|| self.0.path().join(name));
            Source {
                url: "redis://weir-redis.weir-system.svc:6379/0".into(),
                password_file: path("password"),
                ca_file: path("ca"),
                install_key_file: self.0.path().join("key"),
            }
        }
    }

    fn files() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    #[test]
    fn the_secret_holds_just_what_sidecars_read() {
        let files = files();
        let read = files.source(&[("password", "hunter2\n"), ("key", &format!("{KEY}\n"))]).read().unwrap();
        let object = read.to_object("shop");
        let data = object["data"].as_object().unwrap();
        assert_eq!(data.keys().collect::<Vec<_>>(), ["install-key", "password", "url"]);
        assert_eq!(data["password"], STANDARD.encode("hunter2"));
        assert_eq!(data["install-key"], STANDARD.encode(KEY));
        assert_eq!(
            (&object["metadata"]["name"], &object["metadata"]["namespace"]),
            (&"weir-store".into(), &"shop".into())
        );
    }

    #[test]
    fn a_changed_file_is_a_different_secret() {
        let files = files();
        let source = files.source(&[("password", "one"), ("key", KEY)]);
        let first = source.read().unwrap();
        assert_eq!(source.read().unwrap(), first);
        std::fs::write(files.0.path().join("password"), "two").unwrap();
        assert_ne!(source.read().unwrap(), first);
    }

    #[test]
    fn a_wrong_file_is_named_with_its_flag() {
        let files = files();
        for (given, flag, right) in [
            (vec![("key", "short")], "--install-key-file", "base64 of exactly 32 bytes"),
            (vec![("key", "")], "--install-key-file", "empty"),
            (vec![("key", KEY), ("ca", "nonsense")], "--redis-ca-file", "PEM"),
            (vec![("key", KEY), ("password", "\n")], "--redis-password-file", "empty"),
        ] {
            let error = files.source(&given).read().unwrap_err().to_string();
            assert!(error.starts_with(flag) && error.contains(right), "{error}");
        }
        let mut source = files.source(&[("key", KEY)]);
        source.password_file = Some("/nowhere/password".into());
        let error = source.read().unwrap_err().to_string();
        assert!(error.starts_with("--redis-password-file /nowhere/password"), "{error}");
    }

    #[test]
    fn nothing_secret_is_shown() {
        let files = files();
        let read = files.source(&[("password", "hunter2"), ("key", KEY)]).read().unwrap();
        let shown = format!("{read:?}");
        assert!(!shown.contains("hunter2") && !shown.contains(KEY), "{shown}");
    }
}
