//! The policy document: all policies of one namespace, as the operator hands them to the sidecars. Each policy keeps its
//! spec as raw JSON, so that one that can't be read is reported by its name and the others apply. Not here: local files
//! ([`crate::read_policies`]) and what a spec means ([`crate::compile`]).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Faults, RateLimitPolicySpec};

/// All policies of one namespace: format `v1`, which is also the name of its key in the ConfigMap and of the mounted file. An
/// empty list means "no limits".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyDocument {
    /// The policies. [`PolicyDocument::to_json`] writes them ordered by namespace and name.
    pub policies: Vec<PolicyEntry>,
}

/// One policy: who it is, and its spec as it was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyEntry {
    /// The namespace whose pods the policy is for.
    pub namespace: String,
    /// The policy's name, unique in the namespace.
    pub name: String,
    /// The resource's uid; empty for a policy from a local file.
    pub uid: String,
    /// The resource's generation, from 1 on; 1 for a policy from a local file.
    pub generation: i64,
    /// The spec, unread.
    pub spec: Value,
}

// === impl PolicyEntry ===

impl PolicyEntry {
    /// An entry that holds a spec of the resource's own type. A spec always has a JSON form.
    #[must_use]
    pub fn new(namespace: &str, name: &str, uid: &str, generation: i64, spec: &RateLimitPolicySpec) -> Self {
        let spec = serde_json::to_value(spec).unwrap_or_default();
        Self { namespace: namespace.to_owned(), name: name.to_owned(), uid: uid.to_owned(), generation, spec }
    }
}

// === impl PolicyDocument ===

impl PolicyDocument {
    /// The document as JSON: the same policies always give the same bytes, whatever their order, one policy a line.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut policies: Vec<&PolicyEntry> = self.policies.iter().collect();
        policies.sort_by(|a, b| (&a.namespace, &a.name, &a.uid).cmp(&(&b.namespace, &b.name, &b.uid)));
        let lines: Vec<String> =
            policies.iter().map(|p| serde_json::to_value(p).map(sorted).unwrap_or_default().to_string()).collect();
        if lines.is_empty() {
            return "{\"policies\":[]}\n".to_owned();
        }
        format!("{{\"policies\":[\n{}\n]}}\n", lines.join(",\n"))
    }

    /// Reads a document back.
    ///
    /// # Errors
    /// The text is not JSON, is larger than [`crate::MAX_TEXT`] bytes, or is not a document of format `v1`. A policy whose
    /// spec is wrong is no error here: [`crate::compile`] reports it by name.
    pub fn from_json(text: &str) -> Result<Self, Faults> {
        if text.len() > crate::MAX_TEXT {
            return Err(Faults::one("", format!("is {} bytes long; at most {} are read", text.len(), crate::MAX_TEXT)));
        }
        serde_json::from_str(text)
            .map_err(|e| Faults::one("", format!("is not a policy document of format v1, {{\"policies\":[…]}}: {e}")))
    }
}

/// The same value with the fields of every object in order, whichever map serde_json was built with.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut fields: Vec<(String, Value)> = map.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
