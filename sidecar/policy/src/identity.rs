//! The identity of one count: which policy, limit and algorithm, and which values of the keys. Two counts never share an
//! identity: every part is written with its length and every kind of part with its tag. What is stored is a digest of
//! it, so the format may only change together with [`VERSION`]; a test freezes it.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::address::Network;
use crate::source::Source;

/// The format's number, the first byte of every identity. A new number starts every count from zero.
const VERSION: u8 = 1;

/// An identity, written part by part. Names and values of ordinary length cost no allocation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity(SmallVec<[u8; 96]>);

/// What stands for one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyValue<'r> {
    /// The value of a source.
    Sent { source: Source<'r>, value: Cow<'r, [u8]> },
    /// The source is missing and the client's network stands for it.
    MissingByAddress { source: Source<'r>, network: Network },
    /// The source is missing and all such requests are one.
    MissingShared { source: Source<'r> },
    /// The method, in upper case.
    Method(Cow<'r, str>),
    /// The path, in its normal form.
    Path(Cow<'r, [u8]>),
    /// The client's network.
    Address(Network),
}

/// The tags of a source: sent, missing and replaced by the network, missing and shared.
fn tags(source: Source<'_>) -> [u8; 3] {
    match source {
        Source::Header(_) => [1, 3, 4],
        Source::Cookie(_) => [5, 6, 7],
        Source::Query(_) => [8, 9, 10],
        Source::Host => [11, 12, 13],
    }
}

impl Identity {
    /// Begins with what the count belongs to.
    pub(crate) fn new(policy: &str, limit: &str, algorithm: &str) -> Self {
        let mut identity = Self::default();
        identity.0.push(VERSION);
        identity.part(policy.as_bytes());
        identity.part(limit.as_bytes());
        identity.part(algorithm.as_bytes());
        identity
    }

    /// Adds the limit's tier; before the keys.
    pub(crate) fn tier(&mut self, name: &str) {
        self.0.push(255);
        self.part(name.as_bytes());
    }

    /// Adds the value of the next key.
    pub(crate) fn key(&mut self, value: KeyValue<'_>) {
        match value {
            KeyValue::Sent { source, value } => {
                let [tag, ..] = tags(source);
                self.source(tag, source);
                self.part(&value);
            }
            KeyValue::MissingByAddress { source, network } => {
                let [_, tag, _] = tags(source);
                self.source(tag, source);
                self.network(network);
            }
            KeyValue::MissingShared { source } => {
                let [.., tag] = tags(source);
                self.source(tag, source);
            }
            KeyValue::Address(network) => {
                self.0.push(2);
                self.network(network);
            }
            KeyValue::Method(method) => {
                self.0.push(14);
                self.part(method.as_bytes());
            }
            KeyValue::Path(path) => {
                self.0.push(15);
                self.part(&path);
            }
        }
    }

    /// All that was written.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A tag and, where several sources of the kind can be named, the name.
    fn source(&mut self, tag: u8, source: Source<'_>) {
        self.0.push(tag);
        match source {
            Source::Header(name) => self.part(name.as_str().as_bytes()),
            Source::Cookie(name) | Source::Query(name) => self.part(name.as_bytes()),
            Source::Host => {}
        }
    }

    fn network(&mut self, network: Network) {
        self.part(network.bytes(&mut [0; Network::MAX_BYTES]));
    }

    /// A part: its length as 4 bytes, big-endian, then itself. Nothing that is read is near 4 GiB.
    fn part(&mut self, bytes: &[u8]) {
        self.0.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
        self.0.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests;
