//! The client's address as a key: cut to a network. Not here: which address that is ([`crate::client_address`]).

use std::net::IpAddr;

/// How many leading bits of an address count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefixes {
    /// 0 to 32.
    pub(crate) ipv4: u8,
    /// 0 to 128.
    pub(crate) ipv6: u8,
}

/// The network that a client belongs to: one count for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    address: IpAddr,
    prefix: u8,
}

// === impl Prefixes ===

impl Default for Prefixes {
    fn default() -> Self {
        Self { ipv4: 32, ipv6: 64 }
    }
}

impl Prefixes {
    /// The network of `client`. An IPv4 address that came mapped into IPv6 is the IPv4 address.
    pub(crate) fn network(self, client: IpAddr) -> Network {
        match client.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.ipv4.min(32))).unwrap_or(0);
                Network { address: IpAddr::V4((u32::from(address) & mask).into()), prefix: self.ipv4 }
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.ipv6.min(128))).unwrap_or(0);
                Network { address: IpAddr::V6((u128::from(address) & mask).into()), prefix: self.ipv6 }
            }
        }
    }
}

// === impl Network ===

impl Network {
    /// The most that [`Self::bytes`] takes.
    pub(crate) const MAX_BYTES: usize = 17;

    /// The network as bytes: the prefix length, then 4 or 16 bytes of address. They are written into `room`.
    pub(crate) fn bytes(self, room: &mut [u8; Self::MAX_BYTES]) -> &[u8] {
        room[0] = self.prefix;
        match self.address {
            IpAddr::V4(address) => {
                room[1..5].copy_from_slice(&address.octets());
                &room[..5]
            }
            IpAddr::V6(address) => {
                room[1..].copy_from_slice(&address.octets());
                room
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(peer: &str, ipv4: u8, ipv6: u8) -> String {
        let network = Prefixes { ipv4, ipv6 }.network(peer.parse().unwrap());
        format!("{}/{}", network.address, network.prefix)
    }

    #[test]
    fn an_address_is_cut_to_its_prefix() {
        assert_eq!(network("203.0.113.77", 32, 64), "203.0.113.77/32");
        assert_eq!(network("203.0.113.77", 24, 64), "203.0.113.0/24");
        assert_eq!(network("203.0.113.77", 0, 64), "0.0.0.0/0");
        assert_eq!(network("2001:db8:1:2:3::4", 32, 64), "2001:db8:1:2::/64");
        assert_eq!(network("2001:db8:1:2:3::4", 32, 128), "2001:db8:1:2:3::4/128");
        assert_eq!(network("2001:db8:1:2:3::4", 32, 0), "::/0");
    }

    #[test]
    fn a_mapped_ipv4_address_is_the_ipv4_address() {
        assert_eq!(network("::ffff:203.0.113.77", 32, 64), "203.0.113.77/32");
    }
}
