//! Kubernetes' LabelSelector, as written. Own types, because this package knows nothing of Kubernetes' libraries.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Labels that a pod must carry. Both parts must hold; an empty selector selects every pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelSelector {
    /// Labels with the value each must have, at most 32. Example: `{app: shop-api}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, LabelValue>", extend("maxProperties" = 32))]
    pub match_labels: BTreeMap<String, String>,

    /// Conditions on single labels, at most 32; all must hold. Example: `{key: tier, operator: In, values: [web, api]}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    pub match_expressions: Vec<LabelRequirement>,
}

// For the schema only.
/// A label's value.
#[derive(JsonSchema)]
#[schemars(inline)]
#[allow(dead_code, reason = "names the shape of a map's values in the schema")]
struct LabelValue(#[schemars(length(max = 63))] String);

impl LabelSelector {
    /// True when nothing is asked of a pod's labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelRequirement {
    /// The label, such as `app` or `example.com/tier`.
    #[schemars(length(min = 1, max = 317))]
    pub key: String,

    /// How the label's value is compared with `values`: In, NotIn (also true without the label), Exists, DoesNotExist.
    pub operator: LabelOperator,

    /// The values to compare with, 1 to 32 for In and NotIn, none for Exists and DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<LabelValue>", length(max = 32))]
    pub values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// The label is there with one of the values.
    In,
    /// The label is absent, or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}
