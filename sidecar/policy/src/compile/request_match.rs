//! The meaning of a `match`.

use super::node::Node;
use super::{header_name, network, pattern};
use crate::fault::Collector;
use crate::field_match::{HeaderPattern, ParameterPattern};
use crate::host_match::HostPattern;
use crate::path_match::{PathForm, PathPattern};
use crate::pattern::Text;
use crate::request_match::CompiledMatch;
use crate::spec::text;

/// Compiles a match; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<CompiledMatch> {
    let folded = node.read("caseInsensitive").unwrap_or_default();
    let methods = each(node, "methods", |node| method(node, faults));
    let hosts = each(node, "hosts", |node| host(node, faults));
    let paths = each(node, "paths", |node| path(node, folded, faults));
    let headers = each(node, "headers", |node| {
        let name = header_name::compile(node, faults);
        let value = pattern::compile(node, folded, faults);
        Some(HeaderPattern { name: name?, value: value? })
    });
    let query = each(node, "query", |node| {
        let value = pattern::compile(node, folded, faults);
        let name: String = node.read("name")?;
        Some(ParameterPattern { name: Text::new(name, folded), value: value? })
    });
    if folded && ["paths", "headers", "query"].iter().all(|part| node.child(part).is_none()) {
        faults.add(node.at("caseInsensitive"), text::CASE_OF_NOTHING);
        return None;
    }
    let client_addresses = each(node, "clientAddresses", |node| network::compile(node, faults));
    Some(CompiledMatch {
        methods: methods?,
        hosts: hosts?,
        paths: paths?,
        headers: headers?,
        query: query?,
        client_addresses: client_addresses?,
    })
}

/// Compiles a match that must leave something out; an exemption or a tier of everything is a mistake.
pub(super) fn compile_some(node: &Node<'_>, faults: &mut Collector) -> Option<CompiledMatch> {
    let matches = compile(node, faults)?;
    if matches == CompiledMatch::default() {
        faults.add(node.path(), text::ANY_PART);
        return None;
    }
    Some(matches)
}

/// The entries of a list; none where it is absent, `None` where something is wrong with one.
fn each<T>(node: &Node<'_>, field: &str, compile: impl FnMut(&Node<'_>) -> Option<T>) -> Option<Vec<T>> {
    let items = node.child(field).map(|list| list.items()).unwrap_or_default();
    // all are compiled, so that all that is wrong is told
    let compiled: Vec<Option<T>> = items.iter().map(compile).collect();
    compiled.into_iter().collect()
}

fn method(node: &Node<'_>, faults: &mut Collector) -> Option<String> {
    let name: String = node.value()?;
    let fits = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    if !fits {
        faults.add(node.path(), text::METHOD);
        return None;
    }
    Some(name.to_ascii_uppercase())
}

fn host(node: &Node<'_>, faults: &mut Collector) -> Option<HostPattern> {
    let written: String = node.value()?;
    let host = HostPattern::parse(&written);
    if host.is_none() {
        faults.add(node.path(), text::HOST);
    }
    host
}

fn path(node: &Node<'_>, folded: bool, faults: &mut Collector) -> Option<PathPattern> {
    let (form, field) = match (node.child("exact"), node.child("prefix"), node.child("regex")) {
        (Some(exact), None, None) => (PathForm::Exact, exact),
        (None, Some(prefix), None) => (PathForm::Prefix, prefix),
        (None, None, Some(regex)) => return pattern::expression(&regex, folded, faults).map(PathPattern::Regex),
        // a field of another name has been named; which form was meant is then anyone's guess
        _ if !node.is_sound() => return None,
        _ => {
            faults.add(node.path(), text::ONE_PATH_FORM);
            return None;
        }
    };
    let written: String = field.value()?;
    PathPattern::parse(form, &written, folded).map_err(|right| faults.add(field.path(), right)).ok()
}
