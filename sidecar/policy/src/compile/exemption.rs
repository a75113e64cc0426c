//! The meaning of an entry of `exempt`.

use super::node::Node;
use super::{pattern, request_match};
use crate::exemption::Exemption;
use crate::fault::Collector;
use crate::spec::text;

/// Compiles an exemption; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<Exemption> {
    match (node.child("match"), node.child("corsPreflight")) {
        (Some(matches), None) => request_match::compile_some(&matches, faults).map(Exemption::Match),
        (None, Some(preflight)) => pattern::only_true(&preflight, faults).map(|()| Exemption::CorsPreflight),
        // a field of another name has been named; which was meant is then anyone's guess
        _ if !node.is_sound() => None,
        _ => {
            faults.add(node.path(), text::ONE_EXEMPTION);
            None
        }
    }
}
