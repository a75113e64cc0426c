//! Policies as users write them, and a mounted folder as the kubelet swaps it.
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// One document as for `kubectl apply`; `spec` is what stands under `spec:`, indented by two.
pub(crate) fn policy(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: weir.dev/v1alpha1\nkind: RateLimitPolicy\nmetadata: {{name: {name}, namespace: shop}}\nspec:\n{spec}\n"
    )
}

/// A limit of `requests` an hour for each value of `x-user`, fixed windows.
pub(crate) fn per_user(requests: u64) -> String {
    policy("api", &format!("{}\n", hourly(requests, "")))
}

/// The same with more lines before the limits.
pub(crate) fn hourly(requests: u64, more: &str) -> String {
    format!(
        "{more}  limits:\n  - name: per-user\n    algorithm: FixedWindow\n    rate: {{requests: {requests}, period: 1h}}\n    keys: [{{header: {{name: x-user}}}}]"
    )
}

/// Waits until the running hour (windows are aligned to the epoch) has enough left for a test.
pub(crate) async fn enough_of_the_hour() {
    enough_of(3600, 120).await;
}

/// Waits until `left` of the running `period` are left, in seconds.
pub(crate) async fn enough_of(period: u64, left: u64) {
    let into = now() % period;
    if into > period - left {
        tokio::time::sleep(Duration::from_secs(period - into + 1)).await;
    }
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// A file in a folder of its own.
pub(crate) struct PolicyFile {
    _folder: TempDir,
    pub(crate) path: PathBuf,
}

impl PolicyFile {
    pub(crate) fn new(text: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("policies.yaml");
        fs::write(&path, text).unwrap();
        Self { _folder: folder, path }
    }

    pub(crate) fn flag(&self) -> &str {
        self.path.to_str().unwrap()
    }
}

/// A folder as a projected volume is: the files are links into `..data`, itself a link that is replaced in one step.
pub(crate) struct Mounted {
    folder: TempDir,
    version: u64,
}

impl Mounted {
    /// Mounted, but the ConfigMap isn't there yet.
    pub(crate) fn empty() -> Self {
        let mut mounted = Self { folder: TempDir::new().unwrap(), version: 0 };
        mounted.swap(&[("labels", "app=\"shop\"\n")]);
        mounted
    }

    pub(crate) fn flag(&self) -> &str {
        self.folder.path().to_str().unwrap()
    }

    /// What the kubelet does for a changed volume.
    pub(crate) fn swap(&mut self, files: &[(&str, &str)]) {
        self.version += 1;
        let root = self.folder.path();
        let name = format!("..version_{}", self.version);
        fs::create_dir(root.join(&name)).unwrap();
        for (file, text) in files {
            fs::write(root.join(&name).join(file), text).unwrap();
        }
        let old = fs::read_link(root.join("..data")).ok();
        symlink(&name, root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        for (file, _) in files {
            if fs::symlink_metadata(root.join(file)).is_err() {
                symlink(format!("..data/{file}"), root.join(file)).unwrap();
            }
        }
        for entry in fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()) {
            let gone = fs::metadata(&entry).is_err();
            if gone {
                fs::remove_file(&entry).unwrap();
            }
        }
        if let Some(old) = old {
            fs::remove_dir_all(root.join(old)).unwrap();
        }
    }

    /// A document with these policies, beside the labels.
    pub(crate) fn document(&mut self, policies: &[Value]) {
        let document = json!({ "policies": policies }).to_string();
        self.swap(&[("v1", &document), ("labels", "app=\"shop\"\n"), ("revision", "1")]);
    }
}

/// An entry of a document: the fixed window of [`per_user`].
pub(crate) fn entry(name: &str, generation: i64, requests: i64) -> Value {
    json!({
        "namespace": "shop", "name": name, "uid": format!("uid-{name}"), "generation": generation,
        "spec": {"limits": [{
            "name": "per-user", "algorithm": "FixedWindow", "rate": {"requests": requests, "period": "1h"},
            "keys": [{"header": {"name": "x-user"}}],
        }]},
    })
}
