//! The document of a namespace: which version of which policy its sidecars are to have. Pure.
//!
//! A policy that doesn't compile keeps the last version that did, as long as there is one; a document that no ConfigMap could
//! hold is not handed out, and the last good one stays.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Value, json};
use weir_policy::{Faults, Policy, PolicyDocument, PolicyEntry};

/// Name of the ConfigMap in each namespace.
pub(crate) const CONFIG_MAP: &str = "weir-policies";
/// Key of the format that this version writes.
pub(crate) const FORMAT_KEY: &str = "v1";
/// Label of what the operator makes.
pub(crate) const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "weir-operator");
/// The largest document that is handed out, in bytes: a ConfigMap ends at 1 MiB, its other fields and the request's
/// envelope included.
pub(crate) const LARGEST: usize = 900 * 1024;

/// What is to be handed out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Built {
    pub(crate) document: PolicyDocument,
    /// The document as text.
    pub(crate) json: String,
    /// Set when the policies together are larger than [`LARGEST`]: their size in bytes. The document is then the last
    /// one.
    pub(crate) too_large: Option<usize>,
}

/// The document for policies of which each was compiled. `last` is what was handed out before.
pub(crate) fn build<'p>(
    policies: impl IntoIterator<Item = (&'p PolicyEntry, &'p Result<Policy, Faults>)>,
    last: &PolicyDocument,
) -> Built {
    let before: HashMap<&str, &PolicyEntry> = last.policies.iter().map(|entry| (entry.uid.as_str(), entry)).collect();
    let policies: Vec<_> = policies.into_iter().collect();
    let chosen = policies.iter().filter_map(|&(entry, verdict)| match verdict {
        Ok(_) => Some(entry.clone()),
        // Compiled again: what stands in the cluster may have been written by another version, or by hand.
        Err(_) => {
            before.get(entry.uid.as_str()).filter(|old| weir_policy::compile(old).is_ok()).map(|&old| old.clone())
        }
    });
    let document = PolicyDocument { policies: chosen.collect() };
    let json = document.to_json();
    if json.len() > LARGEST {
        // But for those that are no more: a deleted policy ends, whatever the others weigh.
        let exists = |held: &&PolicyEntry| policies.iter().any(|(entry, _)| entry.uid == held.uid);
        let last = PolicyDocument { policies: last.policies.iter().filter(exists).cloned().collect() };
        return Built { json: last.to_json(), document: last, too_large: Some(json.len()) };
    }
    Built { document, json, too_large: None }
}

/// The ConfigMap as it is applied.
pub(crate) fn config_map(namespace: &str, json: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": CONFIG_MAP,
            "namespace": namespace,
            "labels": {MANAGED_BY.0: MANAGED_BY.1, "app.kubernetes.io/part-of": "weir"},
        },
        "data": {FORMAT_KEY: json},
    })
}

/// A short name for a text, which differs when the text does.
pub(crate) fn revision(json: &str) -> String {
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests;
