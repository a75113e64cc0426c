//! Header fields that belong to one connection and not to the message (RFC 9110 §7.6.1), taken off in both directions and
//! put on anew where the next connection needs them.
use super::gate::Gate;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// What was said about the connection.
#[derive(Debug, Default)]
pub(crate) struct Hop {
    /// It is to be closed after this message.
    pub(crate) close: bool,
    /// It is to be kept, which HTTP/1.0 has to say.
    pub(crate) keep: bool,
    /// Its end can be seen without the connection's end.
    pub(crate) delimited: bool,
    /// The client takes trailers.
    pub(crate) trailers: bool,
    /// The protocols the client offers to switch to, without those that would carry HTTP past the limits.
    pub(crate) upgrade: Option<HeaderValue>,
}

/// Takes all of them off a request.
pub(crate) fn strip_request<G: Gate>(headers: &mut HeaderMap, method: &Method, version: Version, gate: &G) -> Hop {
    let mut hop = Hop::default();
    let mut upgrades = false;
    if version < Version::HTTP_2 {
        strip_named(headers, &mut hop, &mut upgrades, |name| gate.reads(name));
        headers.remove(KEEP_ALIVE);
        headers.remove(PROXY_CONNECTION);
        headers.remove(header::TRANSFER_ENCODING);
        headers.remove(HTTP2_SETTINGS);
        let offered = headers.remove(header::UPGRADE);
        if upgrades && version == Version::HTTP_11 && method != Method::CONNECT {
            hop.upgrade = offered.as_ref().and_then(harmless_offer);
        }
    }
    hop.trailers = headers.get_all(header::TE).iter().any(takes_trailers);
    headers.remove(header::TE);
    hop
}

/// Takes all of them off a response; `Upgrade` stays for who looks at a 101.
pub(crate) fn strip_response(headers: &mut HeaderMap, version: Version) -> Hop {
    let mut hop = Hop::default();
    if version < Version::HTTP_2 {
        hop.delimited = headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING);
        strip_named(headers, &mut hop, &mut false, |name| *name == header::UPGRADE);
        headers.remove(KEEP_ALIVE);
        headers.remove(PROXY_CONNECTION);
        headers.remove(header::TRANSFER_ENCODING);
        hop.close |= version == Version::HTTP_10 && !hop.keep;
    }
    hop
}

/// Puts on what the connection to the application needs.
pub(crate) fn put_request(headers: &mut HeaderMap, hop: &Hop, version: Version) {
    if hop.trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
    if version >= Version::HTTP_2 {
        return;
    }
    let connection = match (&hop.upgrade, hop.trailers) {
        (Some(offered), trailers) => {
            headers.insert(header::UPGRADE, offered.clone());
            Some(if trailers { "upgrade, te" } else { "upgrade" })
        }
        (None, true) if hop.close => Some("close, te"),
        (None, true) => Some("te"),
        (None, false) if hop.close => Some("close"),
        (None, false) if hop.keep && version == Version::HTTP_10 => Some("keep-alive"),
        (None, false) => None,
    };
    if let Some(connection) = connection {
        headers.insert(header::CONNECTION, HeaderValue::from_static(connection));
    }
}

/// Whether `answered`, what a 101 switches to, was among `offered`.
pub(crate) fn was_offered(offered: &HeaderValue, answered: Option<&HeaderValue>) -> bool {
    let Some(answered) = answered else { return false };
    let mut all = tokens(answered).peekable();
    all.peek().is_some() && all.all(|one| tokens(offered).any(|offer| offer.eq_ignore_ascii_case(one)))
}

/// Removes what `Connection` names, and itself. What says whom a request is for, from or how long it is can't be removed
/// by whom it is from; nor what `keep` keeps.
fn strip_named(headers: &mut HeaderMap, hop: &mut Hop, upgrades: &mut bool, keep: impl Fn(&HeaderName) -> bool) {
    let header::Entry::Occupied(connection) = headers.entry(header::CONNECTION) else { return };
    let (_, values) = connection.remove_entry_mult();
    let values: Vec<HeaderValue> = values.collect();
    for token in values.iter().flat_map(tokens) {
        if token.eq_ignore_ascii_case(b"keep-alive") {
            hop.keep = true;
        } else if token.eq_ignore_ascii_case(b"close") {
            hop.close = true;
        } else if token.eq_ignore_ascii_case(b"upgrade") {
            *upgrades = true;
        } else if token.eq_ignore_ascii_case(b"te") {
            // looked at and removed in any case
        } else if let Ok(name) = HeaderName::from_bytes(token)
            && !is_protected(&name)
            && !keep(&name)
        {
            headers.remove(name);
        }
    }
}

fn is_protected(name: &HeaderName) -> bool {
    [header::HOST, header::CONTENT_LENGTH, header::AUTHORIZATION, header::COOKIE, header::FORWARDED].contains(name)
        || *name == header::PROXY_AUTHORIZATION
        || *name == header::PROXY_AUTHENTICATE
        || name.as_str().starts_with("x-forwarded-")
}

fn takes_trailers(te: &HeaderValue) -> bool {
    tokens(te).any(|token| token.eq_ignore_ascii_case(b"trailers"))
}

/// Without h2c, HTTP and TLS: the answer to those would be a tunnel of requests that nobody counts.
fn harmless_offer(offered: &HeaderValue) -> Option<HeaderValue> {
    let harmful = |token: &[u8]| {
        let name = token.split(|byte| *byte == b'/').next().unwrap_or_default();
        [&b"h2c"[..], b"h2", b"http", b"tls"].iter().any(|one| name.eq_ignore_ascii_case(one))
    };
    if !tokens(offered).any(harmful) {
        return tokens(offered).next().map(|_| offered.clone());
    }
    let harmless: Vec<&[u8]> = tokens(offered).filter(|token| !harmful(token)).collect();
    if harmless.is_empty() { None } else { HeaderValue::from_bytes(&harmless.join(&b", "[..])).ok() }
}

fn tokens(value: &HeaderValue) -> impl Iterator<Item = &[u8]> {
    value.as_bytes().split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests;
