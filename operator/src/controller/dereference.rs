//! Step 1, dereference: everything that a look at a namespace depends on, gathered at one point in time. Reads the caches, and
//! the sidecars' reports through the store's client; it has no client of the API server, and decides nothing beyond which pods
//! count. It can't fail: what the store doesn't tell is a value.

use std::sync::Arc;
use std::time::Duration;

use weir_store::{Namespace, Store};

use super::facts::{DocumentFacts, NamespaceState, PodFacts, PolicyFacts, Sidecar};
use super::memory::Memory;
use super::watch::Caches;
use crate::clock;
use crate::document::CONFIG_MAP;
use crate::status::{Candidate, Reports};

/// A store that fails for less than this is not talked about: a hiccup would turn every status over and back.
const HICCUP: Duration = Duration::from_secs(3);

/// What was found.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) namespace: String,
    pub(super) state: NamespaceState,
    pub(super) policies: Vec<Arc<PolicyFacts>>,
    pub(super) pods: Vec<Arc<PodFacts>>,
    pub(super) document: Option<Arc<DocumentFacts>>,
    /// The pods that count, with and without a sidecar.
    pub(super) candidates: Vec<Candidate>,
    /// None while it is too early to say that nothing can be learned.
    pub(super) reports: Option<Reports>,
}

pub(super) async fn dereference(caches: &Caches, store: &Store, namespace: &str, memory: &mut Memory) -> Observed {
    let state = caches.namespaces.get(namespace, "").map(|state| (*state).clone());
    let state = state.unwrap_or(NamespaceState { uid: String::new(), terminating: false, injection_enabled: false });
    let pods = caches.pods(namespace);
    let candidates = candidates(&pods, &state);
    let reports = reports(store, namespace, &candidates, memory).await;
    Observed {
        namespace: namespace.to_owned(),
        state,
        policies: caches.policies.of(namespace),
        document: caches.documents.get(namespace, CONFIG_MAP),
        pods,
        candidates,
        reports,
    }
}

/// The pods that count: not terminating, and with a started sidecar, or without the one they asked for.
fn candidates(pods: &[Arc<PodFacts>], namespace: &NamespaceState) -> Vec<Candidate> {
    let counts = |pod: &&Arc<PodFacts>| {
        !pod.terminating
            && match pod.sidecar {
                Sidecar::Started => true,
                Sidecar::Starting => false,
                Sidecar::Absent => pod.asked(namespace),
            }
    };
    let candidate = |pod: &Arc<PodFacts>| Candidate {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
        labels: pod.labels.clone(),
        has_sidecar: pod.sidecar == Sidecar::Started,
        skipped: pod.skipped.clone(),
    };
    pods.iter().filter(counts).map(candidate).collect()
}

async fn reports(store: &Store, namespace: &str, candidates: &[Candidate], memory: &mut Memory) -> Option<Reports> {
    let uids: Vec<&str> = candidates.iter().filter(|pod| pod.has_sidecar).map(|pod| pod.uid.as_str()).collect();
    if uids.is_empty() {
        return Some(Ok([].into()));
    }
    let found = match Namespace::new(namespace) {
        Ok(namespace) => store.heartbeats(&namespace, &uids).await.map_err(|error| error.reason().to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let now = clock::instant();
    match found {
        Ok(heartbeats) => {
            memory.store_failing = None;
            Some(Ok(heartbeats.into_iter().map(|heartbeat| (heartbeat.pod_uid.clone(), heartbeat)).collect()))
        }
        Err(why) => {
            let since = *memory.store_failing.get_or_insert(now);
            (now.saturating_duration_since(since) >= HICCUP).then_some(Err(why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(name: &str, sidecar: Sidecar, wish: Option<bool>, terminating: bool) -> Arc<PodFacts> {
        Arc::new(PodFacts {
            name: name.into(),
            uid: name.into(),
            labels: [].into(),
            terminating,
            sidecar,
            wish,
            skipped: None,
            owner: None,
        })
    }

    #[test]
    fn a_pod_counts_that_runs_a_started_sidecar_or_asked_for_one_and_has_none() {
        let pods = [
            pod("started", Sidecar::Started, Some(true), false),
            pod("starting", Sidecar::Starting, Some(true), false),
            pod("ending", Sidecar::Started, Some(true), true),
            pod("missed", Sidecar::Absent, Some(true), false),
            pod("by-label", Sidecar::Absent, None, false),
            pod("declined", Sidecar::Absent, Some(false), false),
        ];
        let names = |injection_enabled| {
            let namespace = NamespaceState { uid: String::new(), terminating: false, injection_enabled };
            candidates(&pods, &namespace).into_iter().map(|pod| pod.name).collect::<Vec<_>>()
        };
        assert_eq!(names(false), ["started", "missed"]);
        assert_eq!(names(true), ["started", "missed", "by-label"]);
    }
}
