//! What the operator says about a policy: the status and the words of its conditions. Words only; when each is said is
//! the operator's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of a policy. Written by the operator.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RateLimitPolicyStatus {
    /// Accepted: the spec is valid; if not, the message lists every fault with its field. Programmed: the namespace's ConfigMap
    /// weir-policies holds this version. Enforced: every running pod that the policy selects holds its requests against this
    /// version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Vec<Condition>,

    /// The generation of the spec that this status speaks of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub observed_generation: Option<i64>,

    /// How many limits the policy has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64")]
    pub limits: Option<i64>,

    /// How many selected pods hold requests against this version, of how many: `2/2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 32))]
    pub sidecars: Option<String>,
}

/// The types of conditions.
pub mod condition {
    /// The spec is valid.
    pub const ACCEPTED: &str = "Accepted";
    /// The namespace's ConfigMap holds this generation.
    pub const PROGRAMMED: &str = "Programmed";
    /// Every running pod that is selected reports this generation.
    pub const ENFORCED: &str = "Enforced";
}

/// The reasons of conditions.
pub mod reason {
    /// Accepted, True: nothing is wrong.
    pub const VALID: &str = "Valid";
    /// Accepted, False: the message lists what is wrong. Programmed and Enforced, False: it was never handed out.
    pub const INVALID: &str = "Invalid";

    /// Programmed, True: the ConfigMap holds this generation.
    pub const PROGRAMMED: &str = "Programmed";
    /// Programmed, False: all policies of the namespace together are more than a ConfigMap takes; the last good document stays.
    pub const DOCUMENT_TOO_LARGE: &str = "DocumentTooLarge";
    /// Programmed, False: the ConfigMap could not be written; the message says why.
    pub const WRITE_FAILED: &str = "WriteFailed";

    /// Enforced, True: every selected pod reports this generation.
    pub const ENFORCED: &str = "Enforced";
    /// Enforced, False: the policy selects no running pod.
    pub const NO_PODS: &str = "NoPods";
    /// Enforced, False: a selected pod runs without a sidecar; the message names pods.
    pub const PODS_WITHOUT_SIDECAR: &str = "PodsWithoutSidecar";
    /// Enforced, False: a sidecar does not report this generation yet; the message names pods. Also Programmed, False: not
    /// written yet.
    pub const PENDING: &str = "Pending";
    /// Enforced, Unknown: the store through which sidecars report can't be reached.
    pub const STORE_UNREACHABLE: &str = "StoreUnreachable";
}
