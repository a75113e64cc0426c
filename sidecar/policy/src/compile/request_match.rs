//! The meaning of a limit's `match`.

use super::node::Node;
use crate::fault::Collector;
use crate::path_match::{PathForm, PathPattern};
use crate::request_match::CompiledMatch;
use crate::spec::text;

/// Compiles a match; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<CompiledMatch> {
    let methods: Vec<Option<String>> = items(node, "methods").iter().map(|m| method(m, faults)).collect();
    let paths: Vec<Option<PathPattern>> = items(node, "paths").iter().map(|p| path(p, faults)).collect();
    let methods = methods.into_iter().collect::<Option<_>>()?;
    Some(CompiledMatch { methods, paths: paths.into_iter().collect::<Option<_>>()? })
}

fn items<'s>(node: &Node<'s>, field: &str) -> Vec<Node<'s>> {
    node.child(field).map(|list| list.items()).unwrap_or_default()
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

fn path(node: &Node<'_>, faults: &mut Collector) -> Option<PathPattern> {
    let (form, field) = match (node.child("exact"), node.child("prefix")) {
        (Some(exact), None) => (PathForm::Exact, exact),
        (None, Some(prefix)) => (PathForm::Prefix, prefix),
        // a field of another name has been named; which form was meant is then anyone's guess
        _ if !node.is_sound() => return None,
        _ => {
            faults.add(node.path(), text::ONE_PATH_FORM);
            return None;
        }
    };
    let written: String = field.value()?;
    PathPattern::parse(form, &written).map_err(|right| faults.add(field.path(), right)).ok()
}
