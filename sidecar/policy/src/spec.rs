//! What a user writes: the spec of a RateLimitPolicy, as the resource in the cluster, a local file and the policy document
//! carry it. Plain data with its JSON schema; the doc comments are what `kubectl explain` shows. Nothing is decided here:
//! [`crate::compile`] turns a spec into the form that runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod client_address;
mod cost;
mod enforcement;
mod exemption;
mod field_match;
mod key;
mod limit;
mod path_match;
mod request_match;
mod response;
mod rule;
mod selector;
mod tier;
mod waiting;

pub use client_address::{ClientAddressSpec, ReportedBy};
pub use cost::{CostHeader, CostSpec};
pub use enforcement::Enforcement;
pub use exemption::ExemptionSpec;
pub use field_match::{FieldMatch, HeaderName, ParameterName};
pub use key::{ClientAddressKey, CookieKey, HeaderKey, KeySource, NoFields, QueryKey};
pub use limit::{Algorithm, LimitSpec, OnMissingKey, Rate};
pub use path_match::PathMatch;
pub use request_match::RequestMatch;
pub use response::{ExistingHeaders, LimitHeader, ResetFormat, ResponseSpec, RetryAfterFormat};
pub use selector::{LabelOperator, LabelRequirement, LabelSelector};
pub use tier::TierSpec;
pub use waiting::{QueueSpec, SlowdownSpec};

pub(crate) use rule::text;

/// What the pods of one namespace answer for: which pods, which requests, how many, and what happens when the count
/// can't be asked for. Every limit of every policy that selects a pod applies to each request it matches; the order of
/// policies and limits changes nothing. A request that one limit refuses is charged to none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimitPolicySpec {
    /// The pods whose incoming requests are limited, by their labels; both parts must hold. Left out or empty: every pod of
    /// the namespace that runs the sidecar. Example: `{matchLabels: {app: shop-api}}`.
    #[serde(default, skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,

    /// Whether the limits of this policy refuse. Enforce (the default): they do. Shadow: they count, each for itself, the
    /// requests that the enforced limits let pass, and never refuse, delay or appear in a response; the metric
    /// `weir_decisions_total` tells as `shadow_refused` what they would have refused.
    #[serde(default)]
    pub enforcement: Enforcement,

    /// What happens to a request that a limit of this policy matches while the store of the counts can't be reached.
    /// Allow (the default) lets it pass uncounted; Deny answers 503. Where several policies match, Deny wins.
    #[serde(default)]
    pub on_store_failure: OnStoreFailure,

    /// Who the client is where proxies or load balancers stand in front of the pods and say so in a header. Left out: the
    /// peer that opened the connection, whatever headers say. Examples: `{trustedHops: 1}`,
    /// `{trustedCIDRs: [10.0.0.0/8]}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClientAddressSpec")]
    pub client_address: Option<ClientAddressSpec>,

    /// Requests that no limit of this policy sees, at most 32 kinds. Limits of other policies see them all the same. Example:
    /// `[{match: {paths: [{exact: /healthz}]}}, {corsPreflight: true}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub exempt: Vec<ExemptionSpec>,

    /// The limits, 1 to 32, each with a name of its own. Each one that matches a request counts it; the request passes
    /// only if all of them have room.
    #[schemars(
        length(min = 1, max = 32),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub limits: Vec<LimitSpec>,

    /// What clients are told about the limits of this policy. Where several policies apply to a request, that of the limit
    /// which is reported decides: of a refused request the one with the longest wait, of an admitted one that with the
    /// smallest share left. Example: `{headers: [XRateLimit, RateLimit], status: 503}`.
    #[serde(default, skip_serializing_if = "ResponseSpec::is_default")]
    pub response: ResponseSpec,
}

/// What happens to a request that can't be counted because the store is away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OnStoreFailure {
    /// The request passes uncounted.
    #[default]
    Allow,
    /// The request is answered 503.
    Deny,
}
