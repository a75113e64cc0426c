//! What requests are counted by, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// One thing that requests are counted by: exactly one of `header`, `clientAddress`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::key_source()))]
pub struct KeySource {
    /// The value of a request header. One that is absent or empty is a missing key (see `onMissingKey`); one that comes with
    /// two different values, or in another spelling (`x_tenant` for `x-tenant`), is answered 400; a value over 8 KiB, 431.
    /// Example: `{name: x-tenant}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "HeaderKey")]
    pub header: Option<HeaderKey>,

    /// The address of the peer that opened the connection, cut to a network, so that a client with many addresses is one
    /// key. `{}` takes the defaults: each IPv4 address by itself, IPv6 by /64. Behind a proxy or load balancer that hides
    /// the client, this is the proxy's address, and one count for all who come through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClientAddressKey")]
    pub client_address: Option<ClientAddressKey>,
}

/// A request header to count by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderKey {
    /// The header's name, in upper or lower case. Example: `x-tenant`.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::header_name()))]
    pub name: String,
}

/// The peer's address, cut to a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientAddressKey {
    /// How many leading bits of an IPv4 address count, 0 to 32. Default 32: each address by itself.
    #[serde(default = "ipv4_default")]
    #[schemars(range(min = 0, max = 32))]
    pub ipv4_prefix_length: i64,

    /// How many leading bits of an IPv6 address count, 0 to 128. Default 64: what one subscriber usually holds.
    #[serde(default = "ipv6_default")]
    #[schemars(range(min = 0, max = 128))]
    pub ipv6_prefix_length: i64,
}

impl Default for ClientAddressKey {
    fn default() -> Self {
        Self { ipv4_prefix_length: ipv4_default(), ipv6_prefix_length: ipv6_default() }
    }
}

fn ipv4_default() -> i64 {
    32
}

fn ipv6_default() -> i64 {
    64
}
