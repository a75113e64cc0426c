//! The meaning of what a value is compared with.

use super::node::Node;
use crate::fault::Collector;
use crate::pattern::{Expression, Pattern, Text};
use crate::spec::text;

/// The one of `exact`, `regex` and `present` that is given; `None` where something is wrong.
pub(super) fn compile(node: &Node<'_>, folded: bool, faults: &mut Collector) -> Option<Pattern> {
    match (node.child("exact"), node.child("regex"), node.child("present")) {
        (Some(exact), None, None) => {
            let written: String = exact.value()?;
            let text = written.trim_ascii();
            if text.len() < written.len() {
                faults.add(exact.path(), "must not begin or end with white space, which values are read without");
                return None;
            }
            Some(Pattern::Exact(Text::new(text, folded)))
        }
        (None, Some(regex), None) => expression(&regex, folded, faults).map(Pattern::Regex),
        (None, None, Some(present)) => only_true(&present, faults).map(|()| Pattern::Present),
        // a field of another name has been named; which form was meant is then anyone's guess
        _ if !node.is_sound() => None,
        _ => {
            faults.add(node.path(), text::ONE_FIELD_FORM);
            None
        }
    }
}

/// A regular expression.
pub(super) fn expression(node: &Node<'_>, folded: bool, faults: &mut Collector) -> Option<Expression> {
    let written: String = node.value()?;
    Expression::parse(&written, folded).map_err(|wrong| faults.add(node.path(), wrong)).ok()
}

/// A field that is there to be true.
pub(super) fn only_true(node: &Node<'_>, faults: &mut Collector) -> Option<()> {
    if node.value()? {
        return Some(());
    }
    faults.add(node.path(), text::ONLY_TRUE);
    None
}
