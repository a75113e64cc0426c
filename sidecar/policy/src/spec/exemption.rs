//! Requests that no limit of a policy sees, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RequestMatch, rule};

/// Requests that no limit of the policy sees: exactly one of `match`, `corsPreflight`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::exemption()))]
pub struct ExemptionSpec {
    /// Those that match, in every way in which an application might read them; at least one part must be given. What clients
    /// write as they like, such as a header, lets each exempt itself. Example: `{paths: [{exact: /healthz}]}`.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestMatch")]
    pub matches: Option<RequestMatch>,

    /// true: CORS preflights, as browsers send them before a request to another origin: OPTIONS with one Origin and one
    /// Access-Control-Request-Method, without a body, Authorization, Cookie or a header that overrides the method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool", extend("x-kubernetes-validations" = rule::only_true()))]
    pub cors_preflight: Option<bool>,
}
