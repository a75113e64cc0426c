//! What is valid and may still surprise: told in the status, to whoever applies the policy, and in the sidecar's log.

use ipnet::IpNet;

use super::node::Node;
use crate::client_address::{ClientAddress, Trust};
use crate::cost::Cost;
use crate::exemption::Exemption;
use crate::fault::Fault;
use crate::policy::{OnMissingKey, PolicyLimit};
use crate::request_match::CompiledMatch;
use crate::source::Source;

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
    if let Some(source) = limit.cost.source() {
        let message = format!(
            "whoever sends the request chooses what {source} says, so that each may cost as little as 1 of {}",
            limit.name
        );
        let field = if matches!(source, Source::Header(_)) { "cost.header" } else { "cost.query" };
        warnings.push(Fault { path: node.at(field), message });
    }
    let tiers = node.child("tiers").map(|list| list.items()).unwrap_or_default();
    for (node, tier) in tiers.iter().zip(&limit.tiers) {
        if let Some(chosen) = chosen_by_client(&tier.matches) {
            let (tier, limit) = (&tier.name, &limit.name);
            let message =
                format!("whoever sends the request chooses {chosen}, so that each may take tier {tier} of {limit}");
            warnings.push(Fault { path: node.at("match"), message });
        }
    }
    if limit.cost == Cost::Fixed(0) && limit.limit.can_ever_pass(0) {
        let message = format!("requests that cost 0 take nothing, so {} refuses nobody", limit.name);
        warnings.push(Fault { path: node.at("cost.value"), message });
    }
    warnings
}

/// What may surprise about an exemption.
pub(super) fn of_exemption(node: &Node<'_>, exemption: &Exemption) -> Option<Fault> {
    let Exemption::Match(matches) = exemption else { return None };
    let chosen = chosen_by_client(matches)?;
    let message = format!("whoever sends the request chooses {chosen}, so that each may exempt itself");
    Some(Fault { path: node.at("match"), message })
}

/// What a match looks at that clients write as they like, unless it is held to addresses too. Method and path say what is
/// asked of the application: who writes another one gets another answer. Many take no notice of the host.
fn chosen_by_client(matches: &CompiledMatch) -> Option<String> {
    if !matches.client_addresses.is_empty() {
        return None;
    }
    let headers = matches.headers.iter().map(|header| format!("header {}", header.name));
    let query = matches.query.iter().map(|parameter| format!("query parameter {}", parameter.name));
    let host = (!matches.hosts.is_empty()).then(|| Source::Host.to_string());
    let chosen: Vec<String> = host.into_iter().chain(headers).chain(query).collect();
    (!chosen.is_empty()).then(|| chosen.join(" and "))
}
