//! A certificate authority of one test, and a redis-server with its certificate.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::server::Server;

/// A certificate authority with a server certificate for 127.0.0.1, as files.
pub(crate) struct Certificates {
    pub(crate) dir: TempDir,
    pub(crate) ca_pem: String,
}

impl Certificates {
    pub(crate) fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca_key = rcgen::KeyPair::generate().unwrap();
        let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
        let issuer = rcgen::Issuer::new(ca, ca_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        std::fs::write(dir.path().join("ca.crt"), &ca_pem).unwrap();
        std::fs::write(dir.path().join("tls.crt"), leaf.pem()).unwrap();
        std::fs::write(dir.path().join("tls.key"), key.serialize_pem()).unwrap();
        Self { dir, ca_pem }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A server that speaks TLS only.
    pub(crate) fn server(&self) -> Server {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (crt, key, ca) = (self.path("tls.crt"), self.path("tls.key"), self.path("ca.crt"));
        Server::with(&[
            "--tls-cert-file",
            &text(&crt),
            "--tls-key-file",
            &text(&key),
            "--tls-ca-cert-file",
            &text(&ca),
            "--tls-auth-clients",
            "no",
        ])
    }
}
