//! Which requests are meant, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FieldMatch, HeaderName, ParameterName, PathMatch, rule};

/// Which requests are meant; every part that is given must hold. What an application might read differently from what was
/// sent (encoded slashes, `..`, method overrides, repeated headers) is looked at in all its readings: a limit applies if
/// any of them matches, an exemption or a tier only if all do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestMatch {
    /// Methods, 1 to 32, in upper or lower case; one of them must match. GET covers HEAD. The method is read as sent, and
    /// as X-HTTP-Method-Override, X-HTTP-Method or X-Method-Override ask for. Left out: every method.
    /// Example: `[POST, PUT]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(min = 1, max = 32),
        inner(length(min = 1, max = 32)),
        extend("x-kubernetes-validations" = rule::methods())
    )]
    pub methods: Vec<String>,

    /// Hosts, 1 to 32, without a port; one of them must match. `*.shop.example` matches every name below shop.example,
    /// not shop.example itself. Upper and lower case are the same; names with other letters are written as they travel
    /// (`xn--...`). A request that names no host may be for any of them. Left out: every host. Example:
    /// `[shop.example, "*.shop.example"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    // their form would cost more than all CEL rules of a resource may
    #[schemars(length(min = 1, max = 32), inner(length(min = 1, max = 253)))]
    pub hosts: Vec<String>,

    /// Paths, 1 to 32; one of them must match. Left out: every path. Example: `[{prefix: /api}, {exact: /login}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32))]
    pub paths: Vec<PathMatch>,

    /// Headers, 1 to 32; all of them must match. One that comes more than once is read as each of its values, and as all of
    /// them joined. Example: `[{name: x-plan, exact: pro}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32))]
    pub headers: Vec<FieldMatch<HeaderName>>,

    /// Parameters of the query, 1 to 32; all of them must match. Names and values are compared decoded. Example:
    /// `[{name: export, present: true}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32))]
    pub query: Vec<FieldMatch<ParameterName>>,

    /// Networks, 1 to 32; the client's address, as `clientAddress` of the policy says whose that is, must be in one of them.
    /// Example: `[203.0.113.0/24, "2001:db8::1/128"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 32), inner(length(min = 2, max = 49)))]
    pub client_addresses: Vec<String>,

    /// Whether upper and lower case (A to Z) are the same in paths, in the values of headers, and in the names and values of
    /// the query; not without one of these. Default false. Of methods, hosts and the names of headers they always are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub case_insensitive: bool,
}

impl RequestMatch {
    /// True when every request matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { case_insensitive: self.case_insensitive, ..Self::default() }
    }
}
