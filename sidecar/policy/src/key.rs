//! What a limit counts by, in the form that runs.

use std::borrow::Cow;

use http::HeaderName;

use crate::address::Prefixes;
use crate::client_address::Client;
use crate::identity::KeyValue;
use crate::normal_path;
use crate::one_value::Unusable;
use crate::route_table::RequestView;
use crate::source::Source;
use crate::spec::OnMissingKey;

/// One thing that requests are counted by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    Header(HeaderName),
    Cookie(String),
    Query(String),
    Host,
    Method,
    Path,
    ClientAddress(Prefixes),
}

/// What a request has for a key.
pub(crate) enum Reading<'k, 'r> {
    /// It has the key.
    Present(KeyValue<'r>),
    /// It lacks it, and this stands for it.
    Replaced(KeyValue<'r>),
    /// It lacks it, and is to be refused.
    Denied(Source<'k>),
    /// It lacks it, and the limit does not count it.
    Skipped,
    /// It has it in a way that can't be counted.
    Unusable(Source<'k>, Unusable),
}

impl Key {
    /// What is read, where a request may lack it.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        match self {
            Self::Header(name) => Some(Source::Header(name)),
            Self::Cookie(name) => Some(Source::Cookie(name)),
            Self::Query(name) => Some(Source::Query(name)),
            Self::Host => Some(Source::Host),
            Self::Method | Self::Path | Self::ClientAddress(_) => None,
        }
    }

    /// Reads the key from a request.
    pub(crate) fn read<'k: 'r, 'r>(
        &'k self,
        request: &RequestView<'r>,
        client: &Client<'_>,
        missing: OnMissingKey,
    ) -> Reading<'k, 'r> {
        let source = match self {
            Self::Method => return Reading::Present(KeyValue::Method(upper(request.method.as_str()))),
            Self::Path => return Reading::Present(KeyValue::Path(normal_path::of(request.target.path()))),
            Self::ClientAddress(prefixes) => {
                return Reading::Present(KeyValue::Address(prefixes.network(client.address())));
            }
            Self::Header(name) => Source::Header(name),
            Self::Cookie(name) => Source::Cookie(name),
            Self::Query(name) => Source::Query(name),
            Self::Host => Source::Host,
        };
        match (source.read(request), missing) {
            (Ok(Some(value)), _) => Reading::Present(KeyValue::Sent { source, value }),
            (Err(why), _) => Reading::Unusable(source, why),
            (Ok(None), OnMissingKey::ClientAddress) => {
                let network = Prefixes::default().network(client.address());
                Reading::Replaced(KeyValue::MissingByAddress { source, network })
            }
            (Ok(None), OnMissingKey::Shared) => Reading::Replaced(KeyValue::MissingShared { source }),
            (Ok(None), OnMissingKey::Deny) => Reading::Denied(source),
            (Ok(None), OnMissingKey::Skip) => Reading::Skipped,
        }
    }
}

fn upper(method: &str) -> Cow<'_, str> {
    let is_upper = method.bytes().all(|b| !b.is_ascii_lowercase());
    if is_upper { Cow::Borrowed(method) } else { Cow::Owned(method.to_ascii_uppercase()) }
}
