//! Who the client is where proxies stand in front: the address that the nearest of them reports which is not itself to be
//! taken for a proxy. Reports are read from the right, where the trusted ones write; what a client put there before stays on
//! the left and is never reached.

use std::cell::OnceCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::{HeaderMap, HeaderName, header};
use ipnet::IpNet;

use crate::route_table::RequestView;
pub(crate) use crate::spec::ReportedBy;

pub(crate) const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Where a policy takes the client's address from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClientAddress {
    /// The peer that opened the connection.
    #[default]
    Peer,
    /// What proxies say in a header.
    Reported {
        /// In which. The other one is never read: a proxy that writes one of them hands on the other as the client sent it.
        by: ReportedBy,
        /// Whom to believe.
        trust: Trust,
    },
}

/// Which reports are believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// So many proxies stand in front, the peer being the first: the entry so many from the right, and where there are
    /// fewer, the request did not come through them: the peer.
    Hops(usize),
    /// Those of proxies in these networks, beginning with the peer.
    Networks(Vec<IpNet>),
}

/// The client of one request as one policy sees it, looked for when first asked for, and once.
pub(crate) struct Client<'v> {
    from: &'v ClientAddress,
    request: &'v RequestView<'v>,
    found: OnceCell<IpAddr>,
}

impl<'v> Client<'v> {
    pub(crate) fn new(from: &'v ClientAddress, request: &'v RequestView<'v>) -> Self {
        Self { from, request, found: OnceCell::new() }
    }

    pub(crate) fn address(&self) -> IpAddr {
        *self.found.get_or_init(|| self.from.of(self.request.headers, self.request.peer))
    }
}

impl ClientAddress {
    /// The header that is read, if one is.
    pub(crate) fn header_name(&self) -> Option<HeaderName> {
        match self {
            Self::Peer => None,
            Self::Reported { by: ReportedBy::XForwardedFor, .. } => Some(X_FORWARDED_FOR),
            Self::Reported { by: ReportedBy::Forwarded, .. } => Some(header::FORWARDED),
        }
    }

    /// The client's address. A report that can't be read ends the walk at the last one that could.
    pub(crate) fn of(&self, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
        let peer = peer.to_canonical();
        match self {
            Self::Peer => peer,
            Self::Reported { by: ReportedBy::XForwardedFor, trust } => {
                let lines = headers.get_all(X_FORWARDED_FOR).iter().rev();
                trust.walk(peer, lines.flat_map(|line| entries(line.as_bytes(), last_comma)).map(address))
            }
            Self::Reported { by: ReportedBy::Forwarded, trust } => {
                let lines = headers.get_all(header::FORWARDED).iter().rev();
                trust.walk(peer, lines.flat_map(|line| entries(line.as_bytes(), last_bare_comma)).map(forwarded_for))
            }
        }
    }
}

impl Trust {
    /// `reports` come from the right.
    fn walk(&self, peer: IpAddr, reports: impl Iterator<Item = Option<IpAddr>>) -> IpAddr {
        match self {
            Self::Hops(hops) => {
                let (mut found, mut seen) = (peer, 0);
                for report in reports.take(*hops) {
                    let Some(address) = report else { return found };
                    (found, seen) = (address, seen + 1);
                }
                if seen < *hops { peer } else { found }
            }
            Self::Networks(networks) => {
                let mut found = peer;
                for report in reports {
                    if !networks.iter().any(|network| network.contains(&found)) {
                        break;
                    }
                    let Some(address) = report else { break };
                    found = address;
                }
                found
            }
        }
    }
}

/// The entries of a list from the right, without white space around them. Empty ones are none (RFC 9110 §5.6.1).
fn entries(line: &[u8], comma: fn(&[u8]) -> Option<usize>) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    let next = move || {
        let line = rest?;
        let at = comma(line);
        rest = at.map(|at| &line[..at]);
        Some(at.map_or(line, |at| &line[at + 1..]).trim_ascii())
    };
    std::iter::from_fn(next).filter(|entry| !entry.is_empty())
}

fn last_comma(line: &[u8]) -> Option<usize> {
    line.iter().rposition(|b| *b == b',')
}

/// The last comma that is in no quoted string. Looked for from the right, so that a quote which a client left open swallows
/// nothing that a proxy wrote after it.
fn last_bare_comma(line: &[u8]) -> Option<usize> {
    let mut quoted = false;
    for (at, byte) in line.iter().enumerate().rev() {
        match byte {
            b'"' if !(quoted && is_escaped(line, at)) => quoted = !quoted,
            b',' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// True when an odd number of backslashes stands before.
fn is_escaped(line: &[u8], at: usize) -> bool {
    line[..at].iter().rev().take_while(|b| **b == b'\\').count() % 2 == 1
}

/// What an element of Forwarded says in `for`, once (RFC 7239 §4).
fn forwarded_for(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in pairs(element) {
        let equals = pair.iter().position(|b| *b == b'=')?;
        let (name, value) = (pair[..equals].trim_ascii(), pair[equals + 1..].trim_ascii());
        if !name.eq_ignore_ascii_case(b"for") {
            continue;
        }
        if found.is_some() {
            return None;
        }
        let bare = value.strip_prefix(b"\"").map_or(Some(value), |value| value.strip_suffix(b"\""))?;
        found = Some(address(bare)?);
    }
    found
}

/// The pairs of an element, parted by semicolons that are in no quoted string.
fn pairs(element: &[u8]) -> impl Iterator<Item = &[u8]> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = element.split(move |byte| {
        match (*byte, escaped) {
            (_, true) => escaped = false,
            (b'\\', _) if quoted => escaped = true,
            (b'"', _) => quoted = !quoted,
            _ => {}
        }
        *byte == b';' && !quoted
    });
    parts.map(<[u8]>::trim_ascii).filter(|pair| !pair.is_empty())
}

/// An address as proxies write it: with a port or without, IPv6 in brackets or not, with a zone or without. An IPv4 address
/// mapped into IPv6 is the IPv4 address.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    if let Some(bracketed) = text.strip_prefix('[') {
        let (address, after) = bracketed.split_once(']')?;
        return (after.is_empty() || after.starts_with(':')).then_some(address).and_then(ipv6);
    }
    match text.split_once(':') {
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        Some((address, port)) if !port.contains(':') => address.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
        Some(_) => ipv6(text),
    }
}

fn ipv6(text: &str) -> Option<IpAddr> {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<Ipv6Addr>().ok().map(|address| IpAddr::V6(address).to_canonical())
}

#[cfg(test)]
mod tests;
