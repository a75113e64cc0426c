//! TLS to the server: which roots are believed and the handshake. No client certificates.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::credentials::Target;
use crate::reason::{Reason, StoreError};

/// Where distributions keep the system's roots.
const SYSTEM_ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Shakes hands; the certificate must name the URL's host and lead to one of the roots.
pub(crate) async fn connect(target: &Target, tcp: TcpStream) -> Result<TlsStream<TcpStream>, StoreError> {
    let host = target.endpoint.host.clone();
    let name = ServerName::try_from(host)
        .map_err(|error| fault(format!("{}: not a name for a certificate: {error}", target.endpoint)))?;
    let connector = TlsConnector::from(Arc::new(config(target)?));
    connector.connect(name, tcp).await.map_err(|error| fault(format!("{}: {error}", target.endpoint)))
}

fn config(target: &Target) -> Result<ClientConfig, StoreError> {
    let roots = match &target.ca {
        Some(pem) => roots(pem, "ca.crt")?,
        None => system_roots()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| fault(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn system_roots() -> Result<RootCertStore, StoreError> {
    let path = SYSTEM_ROOTS.into_iter().find(|path| std::path::Path::new(path).exists());
    let path =
        path.ok_or_else(|| fault("no ca.crt is given and this system has no file of root certificates".into()))?;
    let pem = std::fs::read(path).map_err(|error| fault(format!("{path}: {error}")))?;
    roots(&pem, path)
}

fn roots(pem: &[u8], from: &str) -> Result<RootCertStore, StoreError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| fault(format!("{from}: must be PEM: {error}")))?;
        roots.add(certificate).map_err(|error| fault(format!("{from}: {error}")))?;
    }
    if roots.is_empty() {
        return Err(fault(format!("{from}: holds no certificate; expected PEM blocks CERTIFICATE")));
    }
    Ok(roots)
}

fn fault(detail: String) -> StoreError {
    StoreError::new(Reason::Tls, detail)
}
