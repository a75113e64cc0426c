//! What requests are counted by, as written.

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

use super::rule;

/// One thing that requests are counted by: exactly one of `header`, `cookie`, `query`, `method`, `host`, `path`,
/// `clientAddress`.
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

    /// The value of a cookie, of all Cookie headers, without quotes around it and with `%` and `\` escapes read as what they
    /// stand for, so that one session can't be written in two ways. One that is absent or empty is a missing key (see
    /// `onMissingKey`); one that comes with two different values is answered 400; a value over 8 KiB, 431. Example:
    /// `{name: session}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CookieKey")]
    pub cookie: Option<CookieKey>,

    /// The value of a parameter of the query, `+` and `%` escapes decoded. One that is absent or empty is a missing key (see
    /// `onMissingKey`); one that comes with two different values is answered 400; a value over 8 KiB, 431. Example:
    /// `{name: api_key}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QueryKey")]
    pub query: Option<QueryKey>,

    /// The method, in upper case, as it was sent: GET and HEAD are two keys, and a header that asks the application to take
    /// another one (X-HTTP-Method-Override) makes no other key. Write `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoFields")]
    pub method: Option<NoFields>,

    /// The host that the request is for, in lower case, without a port and without a dot at its end. A request that names
    /// none lacks the key (see `onMissingKey`). Write `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoFields")]
    pub host: Option<NoFields>,

    /// The path, without the query, in the normal form of RFC 3986: `..` followed, needless escapes decoded, repeated slashes
    /// one. Each path has a count of its own, also one that the application does not know; `/a` and `/a/` are two. Write
    /// `{}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "NoFields")]
    pub path: Option<NoFields>,

    /// The client's address, cut to a network, so that a client with many addresses is one key. `{}` takes the defaults: each
    /// IPv4 address by itself, IPv6 by /64. It is that of the peer that opened the connection. Behind a proxy or load
    /// balancer that hides the client this is the proxy's, and one count for all who come through it, unless
    /// `spec.clientAddress` says where to find the client's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClientAddressKey")]
    pub client_address: Option<ClientAddressKey>,
}

impl KeySource {
    /// Its fields, as they are written.
    pub(crate) const FIELDS: [&str; 7] = ["header", "cookie", "query", "method", "host", "path", "clientAddress"];
}

/// A request header to count by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HeaderKey {
    /// The header's name, in upper or lower case. Example: `x-tenant`.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::header_name()))]
    pub name: String,
}

/// A cookie to count by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CookieKey {
    /// The cookie's name; upper and lower case are two names. Example: `session`.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::cookie_name()))]
    pub name: String,
}

/// A parameter of the query to count by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueryKey {
    /// The parameter's name, decoded, 1 to 256 characters; upper and lower case are two names. Example: `api_key`.
    #[schemars(length(min = 1, max = 256))]
    pub name: String,
}

/// A key of which there is nothing more to say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = closed)]
pub struct NoFields {}

/// That there is no field, in the way that Kubernetes takes.
fn closed(schema: &mut Schema) {
    schema.remove("additionalProperties");
    schema.insert("maxProperties".to_owned(), 0.into());
}

/// The client's address, cut to a network.
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
