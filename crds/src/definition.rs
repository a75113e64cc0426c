//! The CustomResourceDefinition, generated from the types, and its YAML. The committed files are copies of what
//! [`crd_yaml`] returns; a test fails when one is stale.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::Value;

use crate::RateLimitPolicy;

/// The definition's name in the cluster.
pub const CRD_NAME: &str = "ratelimitpolicies.weir.dev";

/// The definition.
///
/// # Errors
/// Never in practice: the definition is fixed when the program is built, and a test makes it.
pub fn crd() -> Result<CustomResourceDefinition, serde_json::Error> {
    let mut definition = serde_json::to_value(RateLimitPolicy::crd())?;
    join_lines(&mut definition);
    serde_json::from_value(definition)
}

/// The definition as YAML, as it is committed and as the chart holds it.
///
/// # Errors
/// Never in practice, as [`crd`].
pub fn crd_yaml() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let yaml = serde_yaml::to_string(&crd()?)?;
    Ok(format!("# Generated from the types in crds/ and sidecar/policy/: WEIR_WRITE=1 cargo test -p weir-crds\n{yaml}"))
}

/// Joins the lines of every description: `kubectl explain` breaks them where its window ends.
fn join_lines(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => *text = text.replace('\n', " "),
                    field => join_lines(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(join_lines),
        _ => {}
    }
}
