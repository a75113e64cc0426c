//! What is valid and may still surprise: told in the status, to whoever applies the policy, and in the sidecar's log.

use super::node::Node;
use crate::fault::Fault;
use crate::policy::{OnMissingKey, PolicyLimit};

/// What may surprise about a limit.
pub(super) fn of_limit(node: &Node<'_>, limit: &PolicyLimit) -> Vec<Fault> {
    let mut warnings = Vec::new();
    let headers: Vec<&str> = limit.keys.iter().filter_map(|key| key.header_name()).collect();
    if limit.on_missing_key == OnMissingKey::Skip && !headers.is_empty() {
        let (headers, name) = (headers.join(" or "), &limit.name);
        let message = format!("Skip leaves requests without header {headers} unlimited by {name}");
        warnings.push(Fault { path: node.at("onMissingKey"), message });
    }
    warnings
}
