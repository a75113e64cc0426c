//! The meaning of a limit's tiers.

use super::limit::{self, Rules};
use super::node::Node;
use super::request_match;
use crate::cost::Cost;
use crate::fault::Collector;
use crate::shape;
use crate::tier::Tier;

/// Compiles the tiers of a limit by these rules; `None` where something is wrong with one.
pub(super) fn compile(node: &Node<'_>, rules: Rules, faults: &mut Collector) -> Option<Vec<Tier>> {
    let nodes = node.child("tiers").map(|list| list.items()).unwrap_or_default();
    let tiers: Vec<Option<Tier>> = nodes.iter().map(|node| tier(node, rules, faults)).collect();
    same_names(&nodes, faults);
    tiers.into_iter().collect()
}

/// Names the tiers in which a request of this cost could never pass.
pub(super) fn can_pass(node: &Node<'_>, tiers: &[Tier], cost: &Cost, faults: &mut Collector) {
    let Cost::Fixed(cost) = *cost else { return };
    let nodes = node.child("tiers").map(|list| list.items()).unwrap_or_default();
    for (node, tier) in nodes.iter().zip(tiers) {
        let holds = tier.limit.capacity();
        if tier.limit.quota().requests() > 0 && cost > holds {
            faults.add(
                node.path(),
                format!(
                    "must hold at least cost.value, or no request can pass; holds {holds} and cost.value is {cost}"
                ),
            );
        }
    }
}

fn tier(node: &Node<'_>, rules: Rules, faults: &mut Collector) -> Option<Tier> {
    let name = limit::name(node, faults);
    let matches = node.child("match").and_then(|matches| request_match::compile_some(&matches, faults));
    let limit = limit::quota(node, rules, faults);
    Some(Tier { name: name?, matches: matches?, limit: limit? })
}

fn same_names(nodes: &[Node<'_>], faults: &mut Collector) {
    let names: Vec<Option<String>> = nodes.iter().map(|node| node.read("name")).collect();
    for (i, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        if let Some(first) = names[..i].iter().position(|other| other.as_ref() == Some(name)) {
            let (name, first) = (shape::quoted(name), nodes[first].path());
            faults.add(
                nodes[i].at("name"),
                format!("{name} is already the name of {first}; give each tier a name of its own"),
            );
        }
    }
}
