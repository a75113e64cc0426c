//! CA and leaf as data: made, read from a Secret's entries, judged. Pure: the time is an argument, and no client.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::prelude::{FromDer, X509Certificate};

/// How long CA and leaf hold.
const LIFETIME: SignedDuration = SignedDuration::from_hours(365 * 24);
/// Both begin this long before they are made, for API servers whose clock is behind.
const BACKDATED: SignedDuration = SignedDuration::from_hours(1);
/// With less than this left, a new pair is made at the next start.
const RENEWED_BEFORE_END: SignedDuration = SignedDuration::from_hours(60 * 24);

const CA_CERTIFICATE: &str = "ca.crt";
const LEAF_CERTIFICATE: &str = "tls.crt";
const LEAF_KEY: &str = "tls.key";

/// A CA's certificate, a leaf that it signed, and the leaf's key, all as PEM. The CA's own key is not kept: it signs this one
/// leaf, and the next pair brings its own.
#[derive(Clone)]
pub struct KeyMaterial {
    ca: String,
    leaf: String,
    key: String,
}

/// Why key material can't be served.
#[derive(Debug, thiserror::Error)]
pub enum UnusableKeyMaterial {
    /// An entry of the Secret is missing or isn't text.
    #[error("entry {0} of the certificate's secret is missing or not PEM text")]
    Entry(&'static str),
    /// A PEM entry doesn't hold what it should.
    #[error("entry {entry} of the certificate's secret can't be read: {reason}")]
    Unreadable {
        /// Name of the entry.
        entry: &'static str,
        /// What the parser said.
        reason: String,
    },
    /// Certificate and key don't belong together, or their kind isn't supported.
    #[error("certificate and key don't fit: {0}")]
    Mismatch(#[from] rustls::Error),
}

// === impl KeyMaterial ===

impl KeyMaterial {
    /// Makes a CA and a leaf for `names`, both good for a year from `now`.
    ///
    /// # Errors
    /// When a name can't stand in a certificate or the system has no randomness.
    pub fn generate(now: Timestamp, names: &[String]) -> Result<Self, rcgen::Error> {
        let ca_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        ca.distinguished_name.push(DnType::CommonName, "weir-webhook-ca");
        set_lifetime(&mut ca, now);
        let ca_certificate = ca.self_signed(&ca_key)?;
        let issuer = Issuer::new(ca, ca_key);

        let leaf_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut leaf = CertificateParams::new(names.to_vec())?;
        leaf.distinguished_name.push(DnType::CommonName, "weir-webhook");
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        set_lifetime(&mut leaf, now);
        let leaf_certificate = leaf.signed_by(&leaf_key, &issuer)?;
        Ok(Self { ca: ca_certificate.pem(), leaf: leaf_certificate.pem(), key: leaf_key.serialize_pem() })
    }

    /// Reads the entries of a Secret.
    ///
    /// # Errors
    /// When an entry is missing or isn't text; whether they fit together is seen by [`Self::certified_key`].
    pub fn from_secret(data: &BTreeMap<String, ByteString>) -> Result<Self, UnusableKeyMaterial> {
        let text = |entry: &'static str| {
            data.get(entry)
                .and_then(|bytes| String::from_utf8(bytes.0.clone()).ok())
                .ok_or(UnusableKeyMaterial::Entry(entry))
        };
        Ok(Self { ca: text(CA_CERTIFICATE)?, leaf: text(LEAF_CERTIFICATE)?, key: text(LEAF_KEY)? })
    }

    /// The entries for a Secret of type `kubernetes.io/tls`.
    #[must_use]
    pub fn to_secret(&self) -> BTreeMap<String, ByteString> {
        let entry = |name: &str, text: &str| (name.to_owned(), ByteString(text.as_bytes().to_vec()));
        [entry(CA_CERTIFICATE, &self.ca), entry(LEAF_CERTIFICATE, &self.leaf), entry(LEAF_KEY, &self.key)].into()
    }

    /// The CA's certificate as PEM: what belongs into `caBundle`.
    #[must_use]
    pub fn ca_pem(&self) -> &str {
        &self.ca
    }

    /// When the first of CA and leaf ends.
    ///
    /// # Errors
    /// When one of them isn't a certificate.
    pub fn expires(&self) -> Result<Timestamp, UnusableKeyMaterial> {
        Ok(validity_end(&self.ca, CA_CERTIFICATE)?.min(validity_end(&self.leaf, LEAF_CERTIFICATE)?))
    }

    /// Whether this can be served from `now` on for long enough, under all of `names`.
    #[must_use]
    pub fn is_good(&self, now: Timestamp, names: &[String]) -> bool {
        let lasts = self.expires().is_ok_and(|end| end.duration_since(now) > RENEWED_BEFORE_END);
        lasts && self.certified_key().is_ok() && self.names().is_ok_and(|held| names.iter().all(|n| held.contains(n)))
    }

    /// What rustls presents.
    ///
    /// # Errors
    /// When an entry can't be read or key and certificate don't belong together.
    pub fn certified_key(&self) -> Result<Arc<rustls::sign::CertifiedKey>, UnusableKeyMaterial> {
        let unreadable = |entry| {
            move |e: rustls_pki_types::pem::Error| UnusableKeyMaterial::Unreadable { entry, reason: e.to_string() }
        };
        let chain = CertificateDer::pem_slice_iter(self.leaf.as_bytes())
            .collect::<Result<Vec<_>, _>>()
            .map_err(unreadable(LEAF_CERTIFICATE))?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(unreadable(LEAF_KEY))?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = rustls::sign::CertifiedKey::from_der(chain, key, &provider)?;
        certified.keys_match()?;
        Ok(Arc::new(certified))
    }

    fn names(&self) -> Result<Vec<String>, UnusableKeyMaterial> {
        let der = first_certificate(&self.leaf, LEAF_CERTIFICATE)?;
        let leaf = parse(&der, LEAF_CERTIFICATE)?;
        let extension = leaf.subject_alternative_name().ok().flatten();
        let names = extension.map(|e| e.value.general_names.iter()).into_iter().flatten();
        Ok(names
            .filter_map(|name| match name {
                x509_parser::extensions::GeneralName::DNSName(dns) => Some((*dns).to_owned()),
                _ => None,
            })
            .collect())
    }
}

impl std::fmt::Debug for KeyMaterial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key has no business in a log line.
        f.debug_struct("KeyMaterial").field("expires", &self.expires()).finish_non_exhaustive()
    }
}

fn set_lifetime(parameters: &mut CertificateParams, now: Timestamp) {
    parameters.not_before = std::time::SystemTime::from(now - BACKDATED).into();
    parameters.not_after = std::time::SystemTime::from(now + LIFETIME).into();
}

fn first_certificate(pem: &str, entry: &'static str) -> Result<CertificateDer<'static>, UnusableKeyMaterial> {
    CertificateDer::from_pem_slice(pem.as_bytes())
        .map_err(|e| UnusableKeyMaterial::Unreadable { entry, reason: e.to_string() })
}

fn parse<'d>(der: &'d CertificateDer<'_>, entry: &'static str) -> Result<X509Certificate<'d>, UnusableKeyMaterial> {
    match X509Certificate::from_der(der) {
        Ok((_, certificate)) => Ok(certificate),
        Err(e) => Err(UnusableKeyMaterial::Unreadable { entry, reason: e.to_string() }),
    }
}

fn validity_end(pem: &str, entry: &'static str) -> Result<Timestamp, UnusableKeyMaterial> {
    let der = first_certificate(pem, entry)?;
    let seconds = parse(&der, entry)?.validity().not_after.timestamp();
    Timestamp::from_second(seconds).map_err(|e| UnusableKeyMaterial::Unreadable { entry, reason: e.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["weir-operator.weir-system.svc".into()]
    }

    fn day(n: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + n * 86_400).unwrap()
    }

    #[test]
    fn what_is_made_survives_the_secret_and_can_be_served() {
        let made = KeyMaterial::generate(day(0), &names()).unwrap();
        let read = KeyMaterial::from_secret(&made.to_secret()).unwrap();
        assert!(read.is_good(day(0), &names()));
        assert_eq!(read.expires().unwrap(), day(365));
        assert_eq!(read.ca_pem(), made.ca_pem());
    }

    #[test]
    fn near_its_end_or_for_other_names_it_is_made_again() {
        let made = KeyMaterial::generate(day(0), &names()).unwrap();
        assert!(made.is_good(day(304), &names()));
        assert!(!made.is_good(day(306), &names()));
        assert!(!made.is_good(day(400), &names()));
        assert!(!made.is_good(day(0), &["other.weir-system.svc".into()]));
    }

    #[test]
    fn a_key_of_another_certificate_is_unusable() {
        let one = KeyMaterial::generate(day(0), &names()).unwrap();
        let other = KeyMaterial::generate(day(0), &names()).unwrap();
        let mixed = KeyMaterial { key: other.key, ..one };
        assert!(matches!(mixed.certified_key(), Err(UnusableKeyMaterial::Mismatch(_))));
        assert!(!mixed.is_good(day(0), &names()));
    }

    #[test]
    fn a_broken_secret_names_the_entry() {
        let mut data = KeyMaterial::generate(day(0), &names()).unwrap().to_secret();
        data.insert("tls.crt".into(), ByteString(b"nonsense".to_vec()));
        let material = KeyMaterial::from_secret(&data).unwrap();
        assert!(material.expires().unwrap_err().to_string().contains("tls.crt"));
        data.remove("tls.key");
        assert!(KeyMaterial::from_secret(&data).unwrap_err().to_string().contains("tls.key"));
    }

    #[test]
    fn the_key_is_not_printed() {
        let made = KeyMaterial::generate(day(0), &names()).unwrap();
        assert!(!format!("{made:?}").contains("PRIVATE"));
    }
}
