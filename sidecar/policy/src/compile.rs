//! From a spec to a policy that runs: the one conversion, used by admission, by the operator, by the sidecar when it reloads,
//! and on the command line. It works on raw JSON, so that everything wrong with a policy is said at once: first its
//! shape ([`crate::shape`]), then, piece by piece where the shape is right, what the pieces mean.

use std::collections::HashMap;

use serde_json::Value;

use crate::client_address::ClientAddress;
use crate::exemption::Exemption;
use crate::fault::Collector;
use crate::policy::{Enforcement, Policy, PolicyId, PolicyLimit};
use crate::response::ResponseOptions;
use crate::{Faults, PolicyEntry, RateLimitPolicySpec, shape};

mod client_address;
mod cost;
mod exemption;
mod header_name;
mod key;
mod length_of_time;
mod limit;
mod network;
mod node;
mod pattern;
mod request_match;
mod response;
mod selector;
mod tier;
mod waiting;
mod warnings;

use node::Node;

/// Compiles one policy.
///
/// # Errors
/// Everything that is wrong with it, each with its path in the resource (`spec.limits[2].keys[0]`).
pub fn compile(entry: &PolicyEntry) -> Result<Policy, Faults> {
    let id = PolicyId {
        namespace: entry.namespace.clone(),
        name: entry.name.clone(),
        uid: entry.uid.clone(),
        generation: entry.generation,
    };
    compile_value(id, &entry.spec)
}

/// Compiles a spec that has no name yet: the policy's id is empty.
///
/// # Errors
/// As [`compile`].
pub fn compile_spec(spec: &RateLimitPolicySpec) -> Result<Policy, Faults> {
    compile(&PolicyEntry::new("", "", "", 1, spec))
}

fn compile_value(id: PolicyId, spec: &Value) -> Result<Policy, Faults> {
    let mut faults = Collector::default();
    shape::check_spec(spec, "spec", &mut faults);
    let root = Node::root("spec", spec, &faults);
    let mut meanings = Collector::default();

    let selector =
        root.child("selector").map_or(Some(crate::Selector::default()), |s| selector::compile(&s, &mut meanings));
    let on_store_failure = root.read("onStoreFailure").unwrap_or_default();
    let enforcement: Enforcement = root.read("enforcement").unwrap_or_default();
    let response =
        root.child("response").map_or(Some(ResponseOptions::default()), |r| response::compile(&r, &mut meanings));
    let client_address = root.child("clientAddress");
    let addresses = client_address
        .as_ref()
        .map_or(Some(ClientAddress::default()), |node| client_address::compile(node, &mut meanings));
    let exempt = root.child("exempt").map(|list| list.items()).unwrap_or_default();
    let exemptions: Vec<Option<Exemption>> =
        exempt.iter().map(|entry| exemption::compile(entry, &mut meanings)).collect();
    let nodes = root.child("limits").map(|list| list.items()).unwrap_or_default();
    let limits: Vec<Option<PolicyLimit>> = nodes.iter().map(|limit| limit::compile(limit, &mut meanings)).collect();
    same_names(&nodes, &mut meanings);
    let of_addresses =
        client_address.iter().zip(&addresses).flat_map(|(node, of)| warnings::of_client_address(node, of));
    let of_exemptions =
        exempt.iter().zip(&exemptions).filter_map(|(node, of)| warnings::of_exemption(node, of.as_ref()?));
    let of_limits =
        nodes.iter().zip(&limits).filter_map(|(node, limit)| Some(warnings::of_limit(node, limit.as_ref()?))).flatten();
    let warnings = of_addresses.chain(of_exemptions).chain(of_limits).collect();

    faults.extend(meanings);
    let limits: Option<Vec<PolicyLimit>> = limits.into_iter().collect();
    let exempt: Option<Vec<Exemption>> = exemptions.into_iter().collect();
    let parts = limits.zip(exempt).zip(selector.zip(response)).zip(addresses);
    let policy = parts.map(|(((mut limits, exempt), (selector, response)), client_address)| {
        if enforcement == Enforcement::Shadow {
            limits.iter_mut().for_each(|limit| limit.enforcement = Enforcement::Shadow);
        }
        // the order in which limits are written decides nothing, not even which of two refusals is named
        limits.sort_by(|a, b| a.name.cmp(&b.name));
        Policy { id, selector, on_store_failure, client_address, exempt, limits, response, warnings }
    });
    faults.finish(policy)
}

fn same_names(limits: &[Node<'_>], faults: &mut Collector) {
    let mut first = HashMap::new();
    for limit in limits {
        let Some(name) = limit.read::<String>("name") else { continue };
        if let Some(other) = first.get(&name) {
            let message =
                format!("{} is already the name of {other}; give each limit a name of its own", shape::quoted(&name));
            faults.add(limit.at("name"), message);
        } else {
            first.insert(name, limit.path().to_owned());
        }
    }
}

#[cfg(test)]
mod tests;
