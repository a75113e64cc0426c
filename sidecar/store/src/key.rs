//! Where the state of one limit of one caller lies: `weir:{<namespace>}:<digest>`.
//!
//! The namespace is the hash tag, so that everything of one namespace lies in one slot of a cluster and one
//! pattern of an ACL covers it. The digest is keyed, because clients choose the values that go into it.
//! The layout is frozen by a test: a change renews every budget there is. What goes into an identity is not
//! known here.

use std::fmt;
use std::hash::{Hash, Hasher};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

const PREFIX: &[u8] = b"weir:{";
const TAG_END: &[u8] = b"}:";
/// A Kubernetes namespace is a DNS label (RFC 1123): at most 63 bytes.
const NAMESPACE_MAX: usize = 63;
const DIGEST_BYTES: usize = 16;
/// Of base64: a name is most of what a key takes in Redis.
const DIGEST_DIGITS: usize = 22;
const KEY_MAX: usize = PREFIX.len() + NAMESPACE_MAX + TAG_END.len() + DIGEST_DIGITS;

/// The secret of 32 bytes that keys the digests of one install.
///
/// All sidecars that share counters must share it: compare [`InstallKey::id`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct InstallKey([u8; blake3::KEY_LEN]);

/// What is wrong with an install key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("install-key must be the base64 of exactly 32 bytes (44 characters)")]
pub struct InvalidInstallKey;

/// A namespace's name as it stands inside keys: a DNS label, so never a brace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Box<str>);

/// What is wrong with a namespace's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "namespace {0:?} must be 1 to 63 lower-case letters, digits and '-', beginning and ending with a letter or digit"
)]
pub struct InvalidNamespace(String);

/// The key of one state; copied as plain bytes, without an allocation.
#[derive(Clone, Copy)]
pub struct StateKey {
    bytes: [u8; KEY_MAX],
    len: u8,
}

// === impl InstallKey ===

impl InstallKey {
    /// The key of an install without a Secret.
    pub const ZEROS: Self = Self([0; blake3::KEY_LEN]);

    /// From the 32 bytes themselves.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// From base64 (RFC 4648 §4, padded), as the Secret carries it; white space around it is ignored.
    ///
    /// # Errors
    /// Anything but the base64 of 32 bytes.
    pub fn from_base64(text: &str) -> Result<Self, InvalidInstallKey> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| InvalidInstallKey)?;
        Ok(Self(bytes.try_into().map_err(|_| InvalidInstallKey)?))
    }

    /// Eight hex digits that tell two keys apart and reveal neither.
    #[must_use]
    pub fn id(&self) -> String {
        let digest = blake3::keyed_hash(&self.0, b"weir install key");
        digest.to_hex()[..8].to_owned()
    }
}

impl fmt::Debug for InstallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InstallKey({})", self.id())
    }
}

// === impl Namespace ===

impl Namespace {
    /// A checked name.
    ///
    /// # Errors
    /// A name that is not a DNS label (RFC 1123).
    pub fn new(name: &str) -> Result<Self, InvalidNamespace> {
        let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let edges = !name.starts_with('-') && !name.ends_with('-');
        if name.is_empty() || name.len() > NAMESPACE_MAX || !edges || !name.bytes().all(inner) {
            return Err(InvalidNamespace(name.chars().take(100).collect()));
        }
        Ok(Self(name.into()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl StateKey ===

impl StateKey {
    /// The key for an identity: an injective encoding of whose state it is and of which limit.
    #[must_use]
    pub fn new(install: &InstallKey, namespace: &Namespace, identity: &[u8]) -> Self {
        let digest = blake3::keyed_hash(&install.0, identity);
        let mut key = Self { bytes: [0; KEY_MAX], len: 0 };
        key.append(PREFIX);
        key.append(namespace.as_str().as_bytes());
        key.append(TAG_END);
        let mut digits = [0; DIGEST_DIGITS];
        // 16 bytes are 22 digits
        let _ = URL_SAFE_NO_PAD.encode_slice(&digest.as_bytes()[..DIGEST_BYTES], &mut digits);
        key.append(&digits);
        key
    }

    /// The whole key as Redis sees it.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// The first eight digits of the digest, for logs.
    #[must_use]
    pub fn short(&self) -> &str {
        std::str::from_utf8(&self.digest()[..8]).unwrap_or_default()
    }

    fn digest(&self) -> &[u8] {
        let bytes = self.as_bytes();
        &bytes[bytes.len() - DIGEST_DIGITS..]
    }

    /// The parts are bounded by construction, so this never cuts.
    fn append(&mut self, part: &[u8]) {
        let start = usize::from(self.len);
        let end = (start + part.len()).min(KEY_MAX);
        self.bytes[start..end].copy_from_slice(&part[..end - start]);
        self.len = end as u8;
    }
}

impl AsRef<[u8]> for StateKey {
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl PartialEq for StateKey {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for StateKey {}

impl Hash for StateKey {
    /// The digest alone: it is what differs between the keys of one sidecar.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(self.digest());
    }
}

impl fmt::Debug for StateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

#[cfg(test)]
mod tests;
