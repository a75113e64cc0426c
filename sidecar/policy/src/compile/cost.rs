//! The meaning of what a request costs.

use weir_limiter::Limit;

use super::header_name;
use super::node::Node;
use crate::cost::{Cost, CostSource};
use crate::fault::Collector;
use crate::spec::text;

/// Compiles `cost` of a limit; `None` where something is wrong with it. `limit` is none where that can't be read: what of
/// a cost depends on it is then not told.
pub(super) fn compile(node: &Node<'_>, limit: Option<&Limit>, faults: &mut Collector) -> Option<Cost> {
    // a limit of 0 requests refuses all whatever they cost
    let most = limit.filter(|limit| limit.quota().requests() > 0).map(Limit::capacity);
    match (node.child("value"), node.child("header"), node.child("query")) {
        (Some(value), None, None) => fixed(node, &value, most, faults),
        (None, Some(header), None) => {
            let source = header_name::compile(&header, faults).map(CostSource::Header);
            sent(node, source, most, faults)
        }
        (None, None, Some(query)) => sent(node, query.read("name").map(CostSource::Query), most, faults),
        // a field of another name has been named; which cost was meant is then anyone's guess
        _ if !node.is_sound() => None,
        _ => {
            faults.add(node.path(), text::ONE_COST);
            None
        }
    }
}

fn fixed(node: &Node<'_>, value: &Node<'_>, most: Option<u64>, faults: &mut Collector) -> Option<Cost> {
    let mut fits = true;
    for field in ["default", "max"] {
        if node.child(field).is_some() {
            faults.add(node.at(field), text::COST_WITH_HEADER);
            fits = false;
        }
    }
    let value = u64::try_from(value.value::<i64>()?).ok()?;
    let fits = can_pass(&node.at("value"), value, most, faults) && fits;
    fits.then_some(Cost::Fixed(value))
}

fn sent(node: &Node<'_>, source: Option<CostSource>, most: Option<u64>, faults: &mut Collector) -> Option<Cost> {
    let number = |field: &str| match node.child(field) {
        Some(number) => Some(Some(u64::try_from(number.value::<i64>()?).ok()?)),
        None => Some(None),
    };
    let (default, max) = (number("default"), number("max"));
    let mut fits = true;
    match (default.flatten(), max.flatten()) {
        (Some(default), Some(max)) if default > max => {
            faults.add(node.at("default"), format!("{}; is {default} and max {max}", text::COST_DEFAULT));
            fits = false;
        }
        (Some(default), None) if max.is_some() => fits = can_pass(&node.at("default"), default, most, faults),
        _ => {}
    }
    if let Some(max) = max.flatten() {
        fits = can_pass(&node.at("max"), max, most, faults) && fits;
    }
    let (source, default, max) = (source?, default?.unwrap_or(1), max?);
    // of a limit of 0 requests, any will do
    let max = max.or(most).unwrap_or(default);
    fits.then_some(Cost::Sent { source, default, max })
}

/// Whether a request of this cost can ever pass.
fn can_pass(path: &str, cost: u64, most: Option<u64>, faults: &mut Collector) -> bool {
    let Some(most) = most.filter(|most| cost > *most) else { return true };
    faults.add(path, format!("{}; is {cost} and the limit holds {most}", text::COST_CAPACITY));
    false
}
