//! The CustomResourceDefinition, generated from the types, and its YAML. The committed files are copies of what
//! [`crd_yaml`] returns; a test fails when one is stale.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;

use crate::RateLimitPolicy;

/// The definition's name in the cluster.
pub const CRD_NAME: &str = "ratelimitpolicies.weir.dev";

/// The definition.
#[must_use]
pub fn crd() -> CustomResourceDefinition {
    RateLimitPolicy::crd()
}

/// The definition as YAML, as it is committed and as the chart holds it.
///
/// # Errors
/// Never in practice: the definition is fixed when the program is built, and a test writes it.
pub fn crd_yaml() -> Result<String, serde_yaml::Error> {
    let yaml = serde_yaml::to_string(&crd())?;
    Ok(format!("# Generated from the types in crds/ and sidecar/policy/: WEIR_WRITE=1 cargo test -p weir-crds\n{yaml}"))
}
