//! The meaning of a network.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

use super::node::Node;
use crate::fault::Collector;
use crate::shape::quoted;
use crate::spec::text;

/// Compiles a list of networks; `None` where something is wrong with one of them.
pub(super) fn compile_all(list: &Node<'_>, faults: &mut Collector) -> Option<Vec<IpNet>> {
    let networks: Vec<Option<IpNet>> = list.items().iter().map(|item| compile(item, faults)).collect();
    networks.into_iter().collect()
}

/// Compiles a network; `None` where something is wrong with it. One of IPv4 addresses mapped into IPv6 is the IPv4 one.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<IpNet> {
    let written: String = node.value()?;
    let Ok(network) = written.parse::<IpNet>() else {
        faults.add(node.path(), format!("{}; is {}", text::NETWORK, quoted(&written)));
        return None;
    };
    if network.trunc() != network {
        let right = network.trunc();
        faults.add(node.path(), format!("has address bits past its first {}: write {right}", network.prefix_len()));
        return None;
    }
    Some(unmapped(network))
}

fn unmapped(network: IpNet) -> IpNet {
    match (network.addr().to_canonical(), network.prefix_len().checked_sub(96)) {
        (IpAddr::V4(address), Some(prefix)) if network.addr().is_ipv6() => {
            Ipv4Net::new(address, prefix).map_or(network, IpNet::V4)
        }
        _ => network,
    }
}
