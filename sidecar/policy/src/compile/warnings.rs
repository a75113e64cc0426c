//! What is valid and may still surprise: told in the status, to whoever applies the policy, and in the sidecar's log.

use ipnet::IpNet;

use super::node::Node;
use crate::client_address::{ClientAddress, Trust};
use crate::cost::Cost;
use crate::fault::Fault;
use crate::policy::{OnMissingKey, PolicyLimit};

/// What may surprise about where the client's address is taken from.
pub(super) fn of_client_address(node: &Node<'_>, from: &ClientAddress) -> Vec<Fault> {
    let networks = match from {
        ClientAddress::Reported { trust: Trust::Networks(networks), .. } => networks.as_slice(),
        _ => &[],
    };
    let all = networks.iter().enumerate().filter(|(_, network)| network.prefix_len() == 0);
    let warn = |(at, network): (usize, &IpNet)| Fault {
        path: format!("{}[{at}]", node.at("trustedCIDRs")),
        message: format!("{network} is everyone, so that each client may write the address that it is counted by"),
    };
    all.map(warn).collect()
}

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
