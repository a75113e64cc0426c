//! What the last look at the policies came to, for `/policy`, for reports to the operator and for the log. No keys and no
//! counts are in it.
use super::known::{Known, Rejected};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is in force and what is not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// The document as a whole.
    pub document: DocumentState,
    /// The revision that the operator put on the pod, when it was read with the document.
    pub revision: Option<String>,
    /// The labels that selectors are held against; `None`: selectors are ignored.
    pub labels: Option<BTreeMap<String, String>>,
    /// Why the newest labels can't be taken.
    pub labels_error: Option<String>,
    /// Every policy of the document.
    pub policies: Vec<PolicyStatus>,
}

/// How the document as a whole fares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DocumentState {
    /// There has not been one: nothing is limited.
    #[default]
    NoDocument,
    /// The newest one is in force.
    Loaded,
    /// The newest one can't be read, for this reason; the last good one stays.
    Kept(String),
}

/// One policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatus {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The version that can run, if one ever could.
    pub running: Option<Version>,
    /// True when that version is for this pod: its selector fits the labels.
    pub selected: bool,
    /// The newest version when it can't be taken.
    pub rejected: Option<Fault>,
}

/// A version that can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// `metadata.uid`, empty for a policy from a local file.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// The names of its limits.
    pub limits: Vec<String>,
    /// What is valid in it and may still surprise, each with its field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A version that can't be taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// Every fault with its field.
    pub faults: Vec<String>,
}

impl Status {
    pub(super) fn new(
        document: DocumentState,
        revision: Option<String>,
        labels: Option<BTreeMap<String, String>>,
        labels_error: Option<String>,
        known: &Known,
    ) -> Self {
        let policies = known
            .slots()
            .map(|((namespace, name), slot)| PolicyStatus {
                namespace: namespace.clone(),
                name: name.clone(),
                running: slot.running.as_ref().map(|running| Version {
                    uid: running.policy.id.uid.clone(),
                    generation: running.policy.id.generation,
                    limits: running.policy.limits.iter().map(|limit| limit.name.clone()).collect(),
                    warnings: running.policy.warnings.iter().map(ToString::to_string).collect(),
                }),
                selected: slot.running.as_ref().is_some_and(|running| {
                    labels.as_ref().is_none_or(|labels| running.policy.selector.matches(labels))
                }),
                rejected: slot.rejected.as_ref().map(Fault::new),
            })
            .collect();
        Self { document, revision, labels, labels_error, policies }
    }

    /// The policies in force in this pod.
    pub fn in_force(&self) -> impl Iterator<Item = (&PolicyStatus, &Version)> {
        let selected = self.policies.iter().filter(|policy| policy.selected);
        selected.filter_map(|policy| policy.running.as_ref().map(|version| (policy, version)))
    }

    /// The policies whose newest version can't be taken.
    pub fn rejected(&self) -> impl Iterator<Item = (&PolicyStatus, &Fault)> {
        self.policies.iter().filter_map(|policy| policy.rejected.as_ref().map(|fault| (policy, fault)))
    }

    /// `shop/api@3, shop/web@1`, or `none`.
    #[must_use]
    pub fn summary(&self) -> String {
        let names: Vec<_> = self
            .in_force()
            .map(|(policy, version)| format!("{}/{}@{}", policy.namespace, policy.name, version.generation))
            .collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    }

    /// Tells what differs from `before`.
    pub(super) fn log(&self, before: &Self) {
        let same = |status: &Self| (status.document.clone(), status.policies.clone(), status.labels_error.clone());
        if *before != Self::default() && same(self) == same(before) {
            tracing::debug!(revision = self.revision, in_force = self.summary(), "the same policies again");
            return;
        }
        match &self.document {
            DocumentState::Kept(reason) => {
                tracing::error!(reason, kept = self.summary(), "the policies can't be read, the last good ones stay");
            }
            DocumentState::NoDocument => tracing::warn!("there are no policies yet, nothing is limited"),
            DocumentState::Loaded => tracing::info!(in_force = self.summary(), "policies"),
        }
        if let Some(reason) = &self.labels_error {
            tracing::error!(reason, "the labels can't be read, the last good ones stay");
        }
        for (policy, version) in self.in_force() {
            if before.in_force().any(|(known, same)| {
                known.name == policy.name && known.namespace == policy.namespace && same == version
            }) {
                continue;
            }
            for warning in &version.warnings {
                tracing::warn!(
                    policy = format!("{}/{}", policy.namespace, policy.name),
                    "a policy may surprise: {warning}"
                );
            }
        }
        for (policy, fault) in self.rejected() {
            let stays = policy
                .running
                .as_ref()
                .map_or_else(|| "nothing".to_owned(), |v| format!("generation {}", v.generation));
            let (namespace, name, generation) = (&policy.namespace, &policy.name, fault.generation);
            let faults = fault.faults.join("; ");
            tracing::error!(
                policy = format!("{namespace}/{name}"),
                generation,
                stays,
                "a policy can't be taken: {faults}"
            );
        }
        let selectors_mean_nothing = self.labels.is_none() && before.policies.is_empty() && !self.policies.is_empty();
        if selectors_mean_nothing {
            tracing::info!("no labels were given, so every policy applies here whatever its selector says");
        }
    }
}

impl Fault {
    fn new(rejected: &Rejected) -> Self {
        let faults = rejected.message.lines().map(str::to_owned).collect();
        Self { uid: rejected.uid.clone(), generation: rejected.generation, faults }
    }
}
