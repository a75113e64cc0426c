//! What is valid and may still surprise: told in the status, to whoever applies the policy, and in the sidecar's log.

use super::node::Node;
use crate::cost::Cost;
use crate::fault::Fault;
use crate::policy::{OnMissingKey, PolicyLimit};

/// What may surprise about a limit.
pub(super) fn of_limit(node: &Node<'_>, limit: &PolicyLimit) -> Vec<Fault> {
    let mut warnings = Vec::new();
    let sources: Vec<String> = limit.keys.iter().filter_map(|key| Some(key.source()?.to_string())).collect();
    if limit.on_missing_key == OnMissingKey::Skip && !sources.is_empty() {
        let (sources, name) = (sources.join(" or "), &limit.name);
        let message = format!("Skip leaves requests without {sources} unlimited by {name}");
        warnings.push(Fault { path: node.at("onMissingKey"), message });
    }
    if let Some(header) = limit.cost.header_name() {
        let message = format!(
            "whoever sends the request chooses what header {header} says, so that each may cost as little as 1 of {}",
            limit.name
        );
        warnings.push(Fault { path: node.at("cost.header"), message });
    }
    if limit.cost == Cost::Fixed(0) && limit.limit.can_ever_pass(0) {
        let message = format!("requests that cost 0 take nothing, so {} refuses nobody", limit.name);
        warnings.push(Fault { path: node.at("cost.value"), message });
    }
    warnings
}
