//! The resource RateLimitPolicy. Its schema is that of weir-policy's spec, but the spec is held as raw JSON: a resource that
//! breaks a rule (one that came in before the rule did, or past the webhook) is still read and reported, and never ends
//! a watch.

use kube::{CustomResource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_policy::{PolicyEntry, RateLimitPolicySpec};

use crate::RateLimitPolicyStatus;

// The doc comment below is what `kubectl explain rlp.spec` shows. The value itself is unread: weir_policy::compile reads it.
/// Which pods of the namespace, which of their requests, how many may pass, and what happens when the count can't be asked
/// for. A request passes only if every limit that matches it has room; a request that one limit refuses is charged to
/// none.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "weir.dev",
    version = "v1alpha1",
    kind = "RateLimitPolicy",
    namespaced,
    derive = "PartialEq",
    doc = "Limits how many requests the pods of a namespace take in. Each policy names pods by their labels and says which requests are counted, by what, and how many may pass; all policies that select a pod apply to it together.",
    status = "RateLimitPolicyStatus",
    shortname = "rlp",
    category = "weir",
    printcolumn = r#"{"name": "Limits", "type": "integer", "jsonPath": ".status.limits", "description": "How many limits the policy has."}"#,
    printcolumn = r#"{"name": "Accepted", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Accepted\")].status", "description": "Whether the policy is valid."}"#,
    printcolumn = r#"{"name": "Enforced", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Enforced\")].status", "description": "Whether every selected pod holds requests against this version of the policy."}"#,
    printcolumn = r#"{"name": "Sidecars", "type": "string", "jsonPath": ".status.sidecars", "description": "How many selected pods hold requests against this version, of how many."}"#,
    printcolumn = r#"{"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#
)]
#[serde(transparent)]
pub struct PolicySpec(#[schemars(with = "RateLimitPolicySpec")] pub Value);

// === impl PolicySpec ===

impl From<&RateLimitPolicySpec> for PolicySpec {
    fn from(spec: &RateLimitPolicySpec) -> Self {
        Self(PolicyEntry::new("", "", "", 1, spec).spec)
    }
}

// === impl RateLimitPolicy ===

impl RateLimitPolicy {
    /// The policy as documents carry it and [`weir_policy::compile`] takes it.
    #[must_use]
    pub fn entry(&self) -> PolicyEntry {
        PolicyEntry {
            namespace: self.namespace().unwrap_or_default(),
            name: self.name_any(),
            uid: self.uid().unwrap_or_default(),
            generation: self.metadata.generation.unwrap_or(1),
            spec: self.spec.0.clone(),
        }
    }
}
