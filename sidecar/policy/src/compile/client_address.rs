//! The meaning of where the client's address is taken from.

use super::network;
use super::node::Node;
use crate::client_address::{ClientAddress, Trust};
use crate::fault::Collector;
use crate::spec::text;

/// Compiles `clientAddress` of a policy; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<ClientAddress> {
    let trust = match (node.child("trustedHops"), node.child("trustedCIDRs")) {
        (Some(hops), None) => Trust::Hops(usize::try_from(hops.value::<i64>()?).ok()?),
        (None, Some(list)) => Trust::Networks(network::compile_all(&list, faults)?),
        // a field of another name has been named; which trust was meant is then anyone's guess
        _ if !node.is_sound() => return None,
        _ => {
            faults.add(node.path(), text::ONE_TRUST);
            return None;
        }
    };
    Some(ClientAddress::Reported { by: node.read("from").unwrap_or_default(), trust })
}
