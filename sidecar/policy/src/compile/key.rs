//! The meaning of one key.

use super::header_name;
use super::node::Node;
use crate::address::Prefixes;
use crate::fault::Collector;
use crate::key::Key;
use crate::spec::{ClientAddressKey, KeySource, text};

/// Compiles a key; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<Key> {
    let given: Vec<(&str, Node<'_>)> =
        KeySource::FIELDS.iter().filter_map(|field| Some((*field, node.child(field)?))).collect();
    match &given[..] {
        [(field, source)] => one(field, source, faults),
        // a field of another name has been named; which key was meant is then anyone's guess
        _ if !node.is_sound() => None,
        _ => {
            faults.add(node.path(), text::ONE_KEY_SOURCE);
            None
        }
    }
}

fn one(field: &str, source: &Node<'_>, faults: &mut Collector) -> Option<Key> {
    match field {
        "header" => header_name::compile(source, faults).map(Key::Header),
        "cookie" => cookie_name(source, faults).map(Key::Cookie),
        "query" => source.read("name").map(Key::Query),
        "method" => source.is_sound().then_some(Key::Method),
        "host" => source.is_sound().then_some(Key::Host),
        "path" => source.is_sound().then_some(Key::Path),
        _ => client_address(source),
    }
}

fn cookie_name(node: &Node<'_>, faults: &mut Collector) -> Option<String> {
    let name: String = node.read("name")?;
    // RFC 9110 §5.6.2, token
    let fits = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
    if !fits {
        faults.add(node.at("name"), text::COOKIE_NAME);
        return None;
    }
    Some(name)
}

fn client_address(node: &Node<'_>) -> Option<Key> {
    let key: ClientAddressKey = node.value()?;
    let (ipv4, ipv6) = (u8::try_from(key.ipv4_prefix_length).ok()?, u8::try_from(key.ipv6_prefix_length).ok()?);
    Some(Key::ClientAddress(Prefixes { ipv4, ipv6 }))
}
