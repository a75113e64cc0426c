//! Where the client's address is taken from, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// Which proxies are believed when they say who the client is: exactly one of `trustedHops`, `trustedCIDRs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::client_address()))]
pub struct ClientAddressSpec {
    /// The header in which they say it. XForwardedFor (the default): X-Forwarded-For. Forwarded: the `for` of Forwarded
    /// (RFC 7239). The other one is never read: a proxy that writes one of them hands on the other as the client sent it.
    #[serde(default)]
    pub from: ReportedBy,

    /// How many proxies stand between the clients and the pod, 1 to 32, each of which adds an entry: the client is the
    /// entry so many from the right. With fewer entries the request came another way, and the peer that opened the
    /// connection is the client. One too many, and clients write their own address. Example: 1 behind one ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 32))]
    pub trusted_hops: Option<i64>,

    /// The networks that the proxies are in, 1 to 32: entries are read from the right, beginning with the peer that opened
    /// the connection, and the first address that is in none of them is the client. Example: `[10.0.0.0/8]`.
    #[serde(default, rename = "trustedCIDRs", skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Vec<String>",
        length(min = 1, max = 32),
        inner(length(max = 49)),
        extend("x-kubernetes-validations" = rule::networks())
    )]
    pub trusted_cidrs: Option<Vec<String>>,
}

/// The header in which proxies say who the client is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ReportedBy {
    /// X-Forwarded-For.
    #[default]
    XForwardedFor,
    /// Forwarded, RFC 7239.
    Forwarded,
}
