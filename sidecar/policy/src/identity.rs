//! The identity of one count: which policy, limit and algorithm, and which values of the keys. Two counts never share an
//! identity: every part is written with its length and every kind of part with its tag. What is stored is a digest of
//! it, so the format may only change together with [`VERSION`]; a test freezes it.

use crate::address::Network;

/// The format's number, the first byte of every identity. A new number starts every count from zero.
const VERSION: u8 = 1;

/// Writes an identity, part by part.
#[derive(Debug)]
pub(crate) struct Identity(Vec<u8>);

/// What stands for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyValue<'r> {
    /// A header's value.
    Header { name: &'r str, value: &'r [u8] },
    /// The peer's network.
    Address(Network),
    /// The header is missing and the peer's network stands for it.
    MissingByAddress { name: &'r str, network: Network },
    /// The header is missing and all such requests are one.
    MissingShared { name: &'r str },
}

impl Identity {
    /// Begins with what the count belongs to.
    pub(crate) fn new(policy: &str, limit: &str, algorithm: &str) -> Self {
        let mut identity = Self(Vec::with_capacity(64));
        identity.0.push(VERSION);
        identity.part(policy.as_bytes());
        identity.part(limit.as_bytes());
        identity.part(algorithm.as_bytes());
        identity
    }

    /// Adds the value of the next key.
    pub(crate) fn key(&mut self, value: KeyValue<'_>) {
        match value {
            KeyValue::Header { name, value } => {
                self.0.push(1);
                self.part(name.as_bytes());
                self.part(value);
            }
            KeyValue::Address(network) => {
                self.0.push(2);
                self.part(&network.to_bytes());
            }
            KeyValue::MissingByAddress { name, network } => {
                self.0.push(3);
                self.part(name.as_bytes());
                self.part(&network.to_bytes());
            }
            KeyValue::MissingShared { name } => {
                self.0.push(4);
                self.part(name.as_bytes());
            }
        }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A part: its length as 4 bytes, big-endian, then itself. Nothing that is read is near 4 GiB.
    fn part(&mut self, bytes: &[u8]) {
        self.0.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests;
