//! What a limit counts by, in the form that runs.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName};

use crate::address::Prefixes;
use crate::header_key::{self, Unusable};
use crate::identity::KeyValue;
use crate::spec::OnMissingKey;

/// One thing that requests are counted by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Header(HeaderName),
    ClientAddress(Prefixes),
}

/// What a request has for a key.
pub(crate) enum Reading<'k, 'r> {
    /// It has the key.
    Present(KeyValue<'r>),
    /// It lacks it, and this stands for it.
    Replaced(KeyValue<'r>),
    /// It lacks it, and is to be refused.
    Denied(&'k HeaderName),
    /// It lacks it, and the limit does not count it.
    Skipped,
    /// It has it in a way that can't be counted.
    Unusable(&'k HeaderName, Unusable),
}

impl Key {
    /// The header that is read, if one is.
    pub(crate) fn header_name(&self) -> Option<&str> {
        match self {
            Self::Header(name) => Some(name.as_str()),
            Self::ClientAddress(_) => None,
        }
    }

    /// Reads the key from a request.
    pub(crate) fn read<'k: 'r, 'r>(
        &'k self,
        headers: &'r HeaderMap,
        peer: IpAddr,
        missing: OnMissingKey,
    ) -> Reading<'k, 'r> {
        let header = match self {
            Self::ClientAddress(prefixes) => return Reading::Present(KeyValue::Address(prefixes.network(peer))),
            Self::Header(header) => header,
        };
        let name = header.as_str();
        match (header_key::read(headers, header), missing) {
            (Ok(Some(value)), _) => Reading::Present(KeyValue::Header { name, value }),
            (Err(why), _) => Reading::Unusable(header, why),
            (Ok(None), OnMissingKey::ClientAddress) => {
                Reading::Replaced(KeyValue::MissingByAddress { name, network: Prefixes::default().network(peer) })
            }
            (Ok(None), OnMissingKey::Shared) => Reading::Replaced(KeyValue::MissingShared { name }),
            (Ok(None), OnMissingKey::Deny) => Reading::Denied(header),
            (Ok(None), OnMissingKey::Skip) => Reading::Skipped,
        }
    }
}
