//! Policies from a local file: RateLimitPolicy documents, written as for `kubectl apply`. Only the wrapping is read here; what
//! a spec means is [`crate::compile`]'s.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::fault::Collector;
use crate::shape::{kind_of, suggestion};
use crate::{Faults, PolicyEntry, yaml};

/// The resource's `apiVersion`.
pub const API_VERSION: &str = "weir.dev/v1alpha1";
/// The resource's `kind`.
pub const KIND: &str = "RateLimitPolicy";

/// The namespace of a document that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// Reads the policies of a local file, in its order. A document without a namespace is in `default`; uid is empty and
/// generation 1. `status`, and metadata other than name and namespace, are let through unread, so that what `kubectl get -o
/// yaml` prints can be used as it is.
///
/// # Errors
/// Every fault of every document at once: text that is no YAML, another apiVersion or kind, a missing or unusable name, a
/// field that is not known, two policies of one name.
pub fn read_policies(yaml: &str) -> Result<Vec<PolicyEntry>, Faults> {
    let documents = yaml::documents(yaml)?;
    let mut faults = Collector::default();
    let mut entries = Vec::new();
    let mut names = HashSet::new();
    let several = documents.len() > 1;
    for (number, document) in documents {
        let place = if several { format!("document {number}: ") } else { String::new() };
        let Some(entry) = read_document(document, &place, &mut faults) else { continue };
        if !names.insert((entry.namespace.clone(), entry.name.clone())) {
            let message = format!("policy {}/{} comes twice; give each a name of its own", entry.namespace, entry.name);
            faults.add(format!("{place}metadata.name"), message);
        }
        entries.push(entry);
    }
    faults.finish(Some(entries))
}

fn read_document(document: Value, place: &str, faults: &mut Collector) -> Option<PolicyEntry> {
    let Value::Object(mut document) = document else {
        faults.add(place.trim_end_matches(": "), format!("must be a {KIND}, is {}", kind_of(&document)));
        return None;
    };
    must_be(&document, "apiVersion", API_VERSION, place, faults);
    must_be(&document, "kind", KIND, place, faults);
    for field in document.keys() {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "spec" | "status") {
            let known = ["apiVersion", "kind", "metadata", "spec"];
            faults.add(format!("{place}{field}"), format!("unknown field; {}", suggestion(field, &known)));
        }
    }
    let metadata = match document.get("metadata") {
        Some(Value::Object(metadata)) => metadata.clone(),
        Some(other) => {
            faults.add(format!("{place}metadata"), format!("must be fields such as name: api, is {}", kind_of(other)));
            return None;
        }
        None => Map::new(),
    };
    let name = text(&metadata, "name", None, place, faults);
    let namespace = text(&metadata, "namespace", Some(DEFAULT_NAMESPACE), place, faults);
    let spec = document.remove("spec");
    if spec.is_none() {
        faults.add(format!("{place}spec"), "is required; it holds the limits");
    }
    let generation = metadata.get("generation").and_then(Value::as_i64).filter(|g| *g > 0).unwrap_or(1);
    Some(PolicyEntry { namespace: namespace?, name: name?, uid: String::new(), generation, spec: spec? })
}

fn must_be(document: &Map<String, Value>, field: &str, right: &str, place: &str, faults: &mut Collector) {
    match document.get(field) {
        Some(Value::String(value)) if value == right => {}
        Some(Value::String(value)) => faults.add(format!("{place}{field}"), format!("is {value:?}; write {right}")),
        Some(other) => faults.add(format!("{place}{field}"), format!("is {}; write {right}", kind_of(other))),
        None => faults.add(format!("{place}{field}"), format!("is required; write {right}")),
    }
}

/// A name in metadata: what Kubernetes takes as one.
fn text(
    metadata: &Map<String, Value>,
    field: &str,
    default: Option<&str>,
    place: &str,
    faults: &mut Collector,
) -> Option<String> {
    let path = format!("{place}metadata.{field}");
    match metadata.get(field) {
        Some(Value::String(value)) if is_dns_subdomain(value) => return Some(value.clone()),
        None if default.is_some() => return default.map(str::to_owned),
        None => faults.add(path, "is required; name the policy, such as api"),
        Some(Value::String(_)) => faults.add(
            path,
            "must be at most 253 lower-case letters, digits, '-' or '.', each part starting and ending with a letter or \
             digit, such as api",
        ),
        Some(other) => faults.add(path, format!("must be a string, is {}; put it in quotes", kind_of(other))),
    }
    None
}

fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_dns_label)
}

/// RFC 1123 label without its length, which `text.len()` bounds where it matters.
pub(crate) fn is_dns_label(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    !text.is_empty() && text.bytes().all(fits) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests;
