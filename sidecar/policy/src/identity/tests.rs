//! Two counts never share an identity, and the format stays what it is.

use std::net::IpAddr;

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
    identity.key(KeyValue::Header { name: "x-a", value: b"v\xff" });
    identity.key(KeyValue::Address(network("192.0.2.1")));
    identity.key(KeyValue::MissingByAddress { name: "x-b", network: network("2001:db8::1") });
    identity.key(KeyValue::MissingShared { name: "x-c" });
    let frozen = [
        "01",
        "00000003617069",
        "000000067065722d6970",
        "0000000b546f6b656e4275636b6574",
        "0100000003782d610000000276ff",
        "020000000520c0000201",
        "0300000003782d62000000114020010db8000000000000000000000000",
        "0400000003782d63",
    ];
    assert_eq!(hex(&identity.into_bytes()), frozen.concat(), "another format needs another VERSION");
}

/// Everything that an identity is made of.
#[derive(Clone, Debug, PartialEq)]
struct Parts {
    names: [String; 3],
    keys: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Header(String, Vec<u8>),
    Address(IpAddr, u8, u8),
    ByAddress(String, IpAddr),
    Shared(String),
}

/// Few different letters, so that parts collide often.
fn text() -> impl Strategy<Value = String> {
    "[a\u{0}\u{1}\u{3}]{0,5}"
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (text(), vec(0_u8..4, 0..6)).prop_map(|(name, value)| Part::Header(name, value)),
        (any::<IpAddr>(), 0_u8..=32, 0_u8..=128).prop_map(|(ip, v4, v6)| Part::Address(ip, v4, v6)),
        (text(), any::<IpAddr>()).prop_map(|(name, ip)| Part::ByAddress(name, ip)),
        text().prop_map(Part::Shared),
    ]
}

fn parts() -> impl Strategy<Value = Parts> {
    ([text(), text(), text()], vec(part(), 0..4)).prop_map(|(names, keys)| Parts { names, keys })
}

fn encode(parts: &Parts) -> Vec<u8> {
    let mut identity = Identity::new(&parts.names[0], &parts.names[1], &parts.names[2]);
    for part in &parts.keys {
        identity.key(match part {
            Part::Header(name, value) => KeyValue::Header { name, value },
            Part::Address(ip, ipv4, ipv6) => KeyValue::Address(Prefixes { ipv4: *ipv4, ipv6: *ipv6 }.network(*ip)),
            Part::ByAddress(name, ip) => KeyValue::MissingByAddress { name, network: Prefixes::default().network(*ip) },
            Part::Shared(name) => KeyValue::MissingShared { name },
        });
    }
    identity.into_bytes()
}

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
        for _ in 0..[0, 2, 1, 2, 1][usize::from(*tag)] {
            parts.push(part(&mut bytes).to_vec());
        }
    }
    parts
}

fn expected(parts: &Parts) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = parts.names.iter().map(|name| name.clone().into_bytes()).collect();
    for part in &parts.keys {
        let of = |ip: &IpAddr, ipv4, ipv6| Prefixes { ipv4, ipv6 }.network(*ip).to_bytes();
        match part {
            Part::Header(name, value) => all.extend([vec![1], name.clone().into_bytes(), value.clone()]),
            Part::Address(ip, ipv4, ipv6) => all.extend([vec![2], of(ip, *ipv4, *ipv6)]),
            Part::ByAddress(name, ip) => all.extend([vec![3], name.clone().into_bytes(), of(ip, 32, 64)]),
            Part::Shared(name) => all.extend([vec![4], name.clone().into_bytes()]),
        }
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
