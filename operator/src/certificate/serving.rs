//! What is presented right now: swapped under a running server, so that a new pair needs no restart. No client.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use super::{KeyMaterial, UnusableKeyMaterial};

/// The certificate that is served, or none yet.
#[derive(Debug)]
pub struct ServingCertificate {
    current: watch::Sender<Option<Current>>,
}

#[derive(Clone, Debug)]
pub(super) struct Current {
    key: Arc<CertifiedKey>,
    ca: Arc<str>,
    expires: Timestamp,
}

// === impl ServingCertificate ===

impl ServingCertificate {
    /// Nothing is served until [`Self::serve`].
    #[must_use]
    pub fn none_yet() -> Arc<Self> {
        Arc::new(Self { current: watch::Sender::new(None) })
    }

    /// Serves `material` from the next connection on.
    ///
    /// # Errors
    /// When it can't be served; what was served before stays.
    pub fn serve(&self, material: &KeyMaterial) -> Result<(), UnusableKeyMaterial> {
        let next =
            Current { key: material.certified_key()?, ca: material.ca_pem().into(), expires: material.expires()? };
        self.current.send_replace(Some(next));
        Ok(())
    }

    /// Whether a certificate is served.
    #[must_use]
    pub fn is_serving(&self) -> bool {
        self.current.borrow().is_some()
    }

    /// The CA of what is served, as PEM.
    #[must_use]
    pub fn ca_pem(&self) -> Option<Arc<str>> {
        self.current.borrow().as_ref().map(|current| current.ca.clone())
    }

    /// When what is served ends; for a metric.
    #[must_use]
    pub fn expires(&self) -> Option<Timestamp> {
        self.current.borrow().as_ref().map(|current| current.expires)
    }

    /// Wakes each time another certificate is served.
    pub(super) fn changes(&self) -> watch::Receiver<Option<Current>> {
        self.current.subscribe()
    }
}

impl ResolvesServerCert for ServingCertificate {
    // Whatever name the client asked for: the API server is the only client, and it knows the CA.
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.current.borrow().as_ref().map(|current| current.key.clone())
    }
}

/// TLS settings of a server that presents what `serving` holds.
///
/// # Errors
/// When rustls refuses its own defaults.
pub fn server_config(serving: Arc<ServingCertificate>) -> Result<rustls::ServerConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(serving);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
