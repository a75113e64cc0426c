//! What the controller keeps of each object it watches, and how it is read from the object: no more than decides
//! something, so that a change of anything else wakes nobody. Nothing here can fail: what is missing or of a wrong type is
//! absent. No client.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::{Resource, ResourceExt};
use serde_json::Value;
use weir_crds::RateLimitPolicyStatus;
use weir_policy::{PolicyDocument, PolicyEntry};

use crate::document::{FORMAT_KEY, MANAGED_BY};
use crate::inject::annotations::{INJECT, INJECTED_LABEL, INJECTION_LABEL, STATUS};

/// Container of the sidecar, as the injector names it.
const SIDECAR: &str = "weir-sidecar";

/// A policy, its spec unread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PolicyFacts {
    pub(crate) entry: PolicyEntry,
    /// What stands in the cluster; none if nothing does, or nothing that can be read.
    pub(crate) status: Option<RateLimitPolicyStatus>,
    pub(crate) version: Version,
}

/// A pod that hasn't ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodFacts {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) terminating: bool,
    pub(crate) sidecar: Sidecar,
    /// What it says about wanting a sidecar.
    pub(crate) wish: Option<bool>,
    /// Why the injector left it out: `NoPorts`.
    pub(crate) skipped: Option<String>,
    pub(crate) owner: Option<Owner>,
}

/// How far a pod's sidecar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sidecar {
    /// The pod has none.
    Absent,
    /// It hasn't started, and so the application hasn't either: no request is served.
    Starting,
    /// It has started, or the application runs, whatever has become of it since.
    Started,
}

/// The object that made a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// A namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespaceState {
    pub(crate) uid: String,
    pub(crate) terminating: bool,
    pub(crate) injection_enabled: bool,
}

/// A namespace's ConfigMap `weir-policies`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DocumentFacts {
    pub(crate) uid: String,
    pub(crate) json: Option<String>,
    pub(crate) version: Version,
    /// Written by an operator, this one or an earlier one.
    pub(crate) ours: bool,
}

/// `metadata.resourceVersion`: of two versions of one object the larger is the newer one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(u128);

// === impl PolicyFacts ===

impl PolicyFacts {
    pub(crate) fn read(object: &DynamicObject) -> Self {
        let status = object.data.get("status");
        Self {
            entry: PolicyEntry {
                namespace: object.namespace().unwrap_or_default(),
                name: object.name_any(),
                uid: object.uid().unwrap_or_default(),
                generation: object.metadata.generation.unwrap_or(1),
                spec: object.data.get("spec").cloned().unwrap_or(Value::Null),
            },
            status: status.and_then(|status| serde_json::from_value(status.clone()).ok()),
            version: Version::of(object),
        }
    }
}

// === impl PodFacts ===

impl PodFacts {
    /// A pod with the label of injected pods.
    pub(crate) fn read(pod: &Pod) -> Self {
        Self { sidecar: sidecar(pod), ..Self::read_metadata(pod) }
    }

    /// A pod without that label, of which the metadata are known.
    pub(crate) fn read_plain(pod: &PartialObjectMeta<Pod>) -> Self {
        Self::read_metadata(pod)
    }

    fn read_metadata(pod: &impl Resource) -> Self {
        let annotation = |name: &str| pod.meta().annotations.as_ref().and_then(|all| all.get(name));
        let owner = pod.meta().owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
        Self {
            name: pod.meta().name.clone().unwrap_or_default(),
            uid: pod.meta().uid.clone().unwrap_or_default(),
            labels: pod.meta().labels.clone().unwrap_or_default(),
            terminating: pod.meta().deletion_timestamp.is_some(),
            sidecar: Sidecar::Absent,
            wish: annotation(INJECT).and_then(|wish| wish.trim().parse().ok()),
            skipped: annotation(STATUS).and_then(|status| status.strip_prefix("skipped; reason=")).map(str::to_owned),
            owner: owner.map(|owner| Owner {
                api_version: owner.api_version.clone(),
                kind: owner.kind.clone(),
                name: owner.name.clone(),
                uid: owner.uid.clone(),
            }),
        }
    }

    /// Whether it was to have a sidecar.
    pub(crate) fn asked(&self, namespace: &NamespaceState) -> bool {
        self.wish.unwrap_or(namespace.injection_enabled) || self.labels.get(INJECTED_LABEL).is_some_and(|v| v == "true")
    }
}

fn sidecar(pod: &Pod) -> Sidecar {
    let containers = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    if !containers.into_iter().any(|container| container.name == SIDECAR) {
        return Sidecar::Absent;
    }
    let Some(status) = &pod.status else { return Sidecar::Starting };
    let started = status
        .init_container_statuses
        .iter()
        .flatten()
        .any(|container| container.name == SIDECAR && container.started == Some(true));
    let serves = status
        .container_statuses
        .iter()
        .flatten()
        .any(|container| container.state.as_ref().is_some_and(|state| state.running.is_some()));
    if started || serves { Sidecar::Started } else { Sidecar::Starting }
}

// === impl NamespaceState ===

impl NamespaceState {
    pub(crate) fn read(namespace: &PartialObjectMeta<Namespace>) -> Self {
        Self {
            uid: namespace.uid().unwrap_or_default(),
            terminating: namespace.metadata.deletion_timestamp.is_some(),
            injection_enabled: namespace.labels().get(INJECTION_LABEL).is_some_and(|value| value == "enabled"),
        }
    }
}

// === impl DocumentFacts ===

impl DocumentFacts {
    pub(crate) fn read(map: &ConfigMap) -> Self {
        Self {
            uid: map.uid().unwrap_or_default(),
            json: map.data.as_ref().and_then(|data| data.get(FORMAT_KEY)).cloned(),
            version: Version::of(map),
            ours: map.labels().get(MANAGED_BY.0).is_some_and(|manager| manager == MANAGED_BY.1),
        }
    }

    /// Whether it hands out no policy.
    pub(crate) fn is_empty(&self) -> bool {
        self.json.as_deref() == Some(PolicyDocument::default().to_json().as_str())
    }
}

// === impl Version ===

impl Version {
    pub(crate) fn of(object: &impl Resource) -> Self {
        Self(object.meta().resource_version.as_deref().and_then(|text| text.parse().ok()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
