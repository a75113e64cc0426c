//! A field that is a length of time.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::node::Node;
use crate::duration;
use crate::fault::Collector;
use crate::spec::text;

/// The length of time in field `name`, within `bounds`, of which `words` say what they are; `None` where it is absent or
/// something is wrong with it.
pub(super) fn compile(
    node: &Node<'_>,
    name: &str,
    bounds: RangeInclusive<Duration>,
    words: &str,
    faults: &mut Collector,
) -> Option<Duration> {
    let text: String = node.read(name)?;
    match duration::parse(&text) {
        Some(length) if bounds.contains(&length) => return Some(length),
        Some(_) => faults.add(node.at(name), format!("{words}, is {text}")),
        None => faults.add(node.at(name), format!("{}; is {text:?}", text::TIME_FORM)),
    }
    None
}
