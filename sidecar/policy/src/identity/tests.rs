//! Two counts never share an identity, and the format stays what it is.

use std::net::IpAddr;

use http::HeaderName;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::address::Prefixes;

fn network(peer: &str) -> Network {
    Prefixes::default().network(peer.parse().unwrap())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[test]
fn the_format_is_frozen() {
    let mut identity = Identity::new("api", "per-ip", "TokenBucket");
    let [a, b, c] = ["x-a", "x-b", "x-c"].map(HeaderName::from_static);
    identity.key(KeyValue::Sent { source: Source::Header(&a), value: b"v\xff".into() });
    identity.key(KeyValue::Address(network("192.0.2.1")));
    identity.key(KeyValue::MissingByAddress { source: Source::Header(&b), network: network("2001:db8::1") });
    identity.key(KeyValue::MissingShared { source: Source::Header(&c) });
    for source in [Source::Cookie("c"), Source::Query("q"), Source::Host] {
        identity.key(KeyValue::Sent { source, value: b"v".into() });
        identity.key(KeyValue::MissingByAddress { source, network: network("192.0.2.1") });
        identity.key(KeyValue::MissingShared { source });
    }
    identity.key(KeyValue::Method("GET".into()));
    identity.key(KeyValue::Path(b"/a".into()));
    let frozen = [
        "01",
        "00000003617069",
        "000000067065722d6970",
        "0000000b546f6b656e4275636b6574",
        "0100000003782d610000000276ff",
        "020000000520c0000201",
        "0300000003782d62000000114020010db8000000000000000000000000",
        "0400000003782d63",
        "0500000001630000000176",
        "0600000001630000000520c0000201",
        "070000000163",
        "0800000001710000000176",
        "0900000001710000000520c0000201",
        "0a0000000171",
        "0b0000000176",
        "0c0000000520c0000201",
        "0d",
        "0e00000003474554",
        "0f000000022f61",
    ];
    assert_eq!(hex(identity.as_bytes()), frozen.concat(), "another format needs another VERSION");
}

/// Everything that an identity is made of.
#[derive(Clone, Debug, PartialEq)]
struct Parts {
    names: [String; 3],
    keys: Vec<Part>,
}

/// A key. What may be missing has a kind: 0 header, 1 cookie, 2 query, 3 host.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    Sent(u8, String, Vec<u8>),
    ByAddress(u8, String, IpAddr),
    Shared(u8, String),
    Address(IpAddr, u8, u8),
    Method(String),
    Path(Vec<u8>),
}

/// Few different letters, so that parts collide often.
fn text() -> impl Strategy<Value = String> {
    "[a\u{0}\u{1}\u{3}]{0,5}"
}

/// A name that any source can have.
fn name() -> impl Strategy<Value = String> {
    "[ab]{1,3}"
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    vec(0_u8..4, 0..6)
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (0_u8..4, name(), value()).prop_map(|(kind, name, value)| Part::Sent(kind, name, value)),
        (0_u8..4, name(), any::<IpAddr>()).prop_map(|(kind, name, ip)| Part::ByAddress(kind, name, ip)),
        (0_u8..4, name()).prop_map(|(kind, name)| Part::Shared(kind, name)),
        (any::<IpAddr>(), 0_u8..=32, 0_u8..=128).prop_map(|(ip, v4, v6)| Part::Address(ip, v4, v6)),
        text().prop_map(Part::Method),
        value().prop_map(Part::Path),
    ]
}

/// Writes one key whose source is of this kind and has this name.
fn write(identity: &mut Identity, kind: u8, name: &str, key: impl FnOnce(Source<'_>) -> KeyValue<'_>) {
    let header = HeaderName::from_bytes(name.as_bytes()).unwrap();
    identity.key(key(
        [Source::Header(&header), Source::Cookie(name), Source::Query(name), Source::Host][usize::from(kind)]
    ));
}

fn parts() -> impl Strategy<Value = Parts> {
    ([text(), text(), text()], vec(part(), 0..4)).prop_map(|(names, keys)| Parts { names, keys })
}

fn encode(parts: &Parts) -> Vec<u8> {
    let mut identity = Identity::new(&parts.names[0], &parts.names[1], &parts.names[2]);
    for part in &parts.keys {
        let near = |ip: &IpAddr| Prefixes::default().network(*ip);
        match part {
            Part::Sent(kind, name, value) => {
                write(&mut identity, *kind, name, |source| KeyValue::Sent { source, value: value.clone().into() });
            }
            Part::ByAddress(kind, name, ip) => {
                let network = near(ip);
                write(&mut identity, *kind, name, |source| KeyValue::MissingByAddress { source, network });
            }
            Part::Shared(kind, name) => {
                write(&mut identity, *kind, name, |source| KeyValue::MissingShared { source });
            }
            Part::Address(ip, ipv4, ipv6) => {
                identity.key(KeyValue::Address(Prefixes { ipv4: *ipv4, ipv6: *ipv6 }.network(*ip)));
            }
            Part::Method(method) => identity.key(KeyValue::Method(method.into())),
            Part::Path(path) => identity.key(KeyValue::Path(path.into())),
        }
    }
    identity.as_bytes().to_vec()
}

/// How many parts follow each tag.
const PARTS: [usize; 16] = [0, 2, 1, 2, 1, 2, 2, 1, 2, 2, 1, 1, 1, 0, 1, 1];

/// Reads an identity back: what can be read back in one way only is injective.
fn decode(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    fn part<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
        let (length, rest) = bytes.split_at(4);
        let (part, rest) = rest.split_at(u32::from_be_bytes(length.try_into().unwrap()) as usize);
        *bytes = rest;
        part
    }
    assert_eq!(bytes[0], VERSION);
    bytes = &bytes[1..];
    let mut parts: Vec<Vec<u8>> = (0..3).map(|_| part(&mut bytes).to_vec()).collect();
    while let Some((tag, rest)) = bytes.split_first() {
        bytes = rest;
        parts.push(vec![*tag]);
        for _ in 0..PARTS[usize::from(*tag)] {
            parts.push(part(&mut bytes).to_vec());
        }
    }
    parts
}

fn expected(parts: &Parts) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = parts.names.iter().map(|name| name.clone().into_bytes()).collect();
    for part in &parts.keys {
        let of =
            |ip: &IpAddr, ipv4, ipv6| Prefixes { ipv4, ipv6 }.network(*ip).bytes(&mut [0; Network::MAX_BYTES]).to_vec();
        // a host has no name
        let named = |kind: u8, name: &str| (kind < 3).then(|| name.as_bytes().to_vec());
        let tag =
            |kind: u8, which: usize| vec![[[1, 3, 4], [5, 6, 7], [8, 9, 10], [11, 12, 13]][usize::from(kind)][which]];
        let (tag, name, last) = match part {
            Part::Sent(kind, name, value) => (tag(*kind, 0), named(*kind, name), Some(value.clone())),
            Part::ByAddress(kind, name, ip) => (tag(*kind, 1), named(*kind, name), Some(of(ip, 32, 64))),
            Part::Shared(kind, name) => (tag(*kind, 2), named(*kind, name), None),
            Part::Address(ip, ipv4, ipv6) => (vec![2], None, Some(of(ip, *ipv4, *ipv6))),
            Part::Method(method) => (vec![14], None, Some(method.clone().into_bytes())),
            Part::Path(path) => (vec![15], None, Some(path.clone())),
        };
        all.push(tag);
        all.extend(name);
        all.extend(last);
    }
    all
}

proptest! {
    #[test]
    fn an_identity_can_be_read_back_in_one_way(parts in parts()) {
        prop_assert_eq!(decode(&encode(&parts)), expected(&parts));
    }

    #[test]
    fn different_parts_never_share_an_identity(a in parts(), b in parts()) {
        prop_assert_eq!(encode(&a) == encode(&b), expected(&a) == expected(&b));
    }
}
