//! The watches: what is listed and watched, into which cache. An object that doesn't parse ends no watch: policies are read
//! as raw objects. Has a client.

use std::pin::pin;
use std::sync::Arc;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::{self, Config, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_objects};
use kube::{Api, Client, Resource};
use tracing::warn;

use super::cache::{Cache, Key, Writer};
use super::facts::{DocumentFacts, NamespaceState, PodFacts, PolicyFacts, Sidecar};
use super::queue::Queue;
use crate::document::CONFIG_MAP;
use crate::inject::annotations::INJECTED_LABEL;
use crate::metrics::{Metrics, PodCounts};

/// Pods that have ended count nowhere: one that ends is deleted from the watch.
const NOT_ENDED: &str = "status.phase!=Succeeded,status.phase!=Failed";

/// A watch is begun anew this often, in seconds, from where it was; one whose API server went away without a word is noticed
/// then, and edits are not missed for longer.
pub(crate) const ANEW_AFTER: u32 = 60;

/// Everything that is watched.
#[derive(Debug)]
pub(crate) struct Caches {
    pub(crate) namespaces: Arc<Cache<NamespaceState>>,
    pub(crate) policies: Arc<Cache<PolicyFacts>>,
    /// Pods with the label of injected pods.
    pub(crate) injected: Arc<Cache<PodFacts>>,
    /// All other pods.
    pub(crate) plain: Arc<Cache<PodFacts>>,
    pub(crate) documents: Arc<Cache<DocumentFacts>>,
}

/// Begins to watch; a namespace in which something changed is touched in `queue`. The future is the watching, and never ends.
pub(crate) fn watch(
    client: &Client,
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
) -> (Arc<Caches>, impl Future<Output = ()> + Send + use<>) {
    let (namespaces, namespace_writer) = Cache::new();
    let (policies, policy_writer) = Cache::new();
    let (injected, injected_writer) = Cache::new();
    let (plain, plain_writer) = Cache::new();
    let (documents, document_writer) = Cache::new();

    let all_namespaces: Api<PartialObjectMeta<Namespace>> = Api::all(client.clone());
    let all_policies: Api<DynamicObject> = Api::all_with(client.clone(), &policy_resource());
    let injected_pods: Api<Pod> = Api::all(client.clone());
    // Metadata only: nothing else of them decides anything.
    let plain_pods: Api<PartialObjectMeta<Pod>> = Api::all(client.clone());
    let all_maps: Api<ConfigMap> = Api::all(client.clone());
    let all = || Config::default().timeout(ANEW_AFTER);
    let with_label = all().labels(&format!("{INJECTED_LABEL}=true")).fields(NOT_ENDED);
    let without_label = all().labels(&format!("{INJECTED_LABEL}!=true")).fields(NOT_ENDED);
    // By name, so that the operator needs no right to read other ConfigMaps.
    let documents_only = all().fields(&format!("metadata.name={CONFIG_MAP}"));

    let to = Arc::new(Sink { queue, metrics });
    let run = {
        let namespaces = follow(
            "namespaces",
            watch_objects(all_namespaces, all()),
            namespace_writer,
            // A namespace is its own: its name is where it lies.
            |namespace: &PartialObjectMeta<Namespace>| {
                (Key { namespace: key(namespace).name, name: String::new() }, NamespaceState::read(namespace))
            },
            to.clone(),
        );
        let policies = follow(
            "policies",
            watch_objects(all_policies, all()),
            policy_writer,
            |policy: &DynamicObject| (key(policy), PolicyFacts::read(policy)),
            to.clone(),
        );
        let injected = follow(
            "injected pods",
            watch_objects(injected_pods, with_label),
            injected_writer,
            |pod: &Pod| (key(pod), PodFacts::read(pod)),
            to.clone(),
        );
        let plain = follow(
            "other pods",
            watch_objects(plain_pods, without_label),
            plain_writer,
            |pod: &PartialObjectMeta<Pod>| (key(pod), PodFacts::read_plain(pod)),
            to.clone(),
        );
        let documents = follow(
            "documents",
            watch_objects(all_maps, documents_only),
            document_writer,
            |map: &ConfigMap| (key(map), DocumentFacts::read(map)),
            to,
        );
        async move {
            tokio::join!(namespaces, policies, injected, plain, documents);
        }
    };
    (Arc::new(Caches { namespaces, policies, injected, plain, documents }), run)
}

/// The resource, for raw objects.
pub(crate) fn policy_resource() -> ApiResource {
    ApiResource::erase::<weir_crds::RateLimitPolicy>(&())
}

struct Sink {
    queue: Arc<Queue>,
    metrics: Arc<Metrics>,
}

/// Feeds one cache for ever: the stream begins again by itself after an error, with a growing pause.
async fn follow<K, T: PartialEq>(
    name: &'static str,
    events: impl Stream<Item = watcher::Result<Event<K>>>,
    mut writer: Writer<T>,
    read: impl Fn(&K) -> (Key, T),
    to: Arc<Sink>,
) {
    let mut events = pin!(events.default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => {
                for namespace in writer.take(event, &read) {
                    to.queue.touch(&namespace);
                }
            }
            Err(error) => {
                to.metrics.watch_failed(name);
                warn!(watch = name, %error, "a watch failed and begins again");
            }
        }
    }
}

fn key(object: &impl Resource) -> Key {
    let meta = object.meta();
    Key { namespace: meta.namespace.clone().unwrap_or_default(), name: meta.name.clone().unwrap_or_default() }
}

// === impl Caches ===

impl Caches {
    /// What no watch feeds, for tests, and the way to fill the policies.
    #[cfg(test)]
    pub(crate) fn unfed() -> (Arc<Self>, Writer<PolicyFacts>) {
        let (policies, writer) = Cache::new();
        let caches = Self {
            namespaces: Cache::new().0,
            policies,
            injected: Cache::new().0,
            plain: Cache::new().0,
            documents: Cache::new().0,
        };
        (Arc::new(caches), writer)
    }

    /// The kinds that have not been listed yet.
    pub(crate) fn not_synced(&self) -> Vec<&'static str> {
        let all = [
            ("namespaces", self.namespaces.is_synced()),
            ("policies", self.policies.is_synced()),
            ("injected pods", self.injected.is_synced()),
            ("other pods", self.plain.is_synced()),
            ("documents", self.documents.is_synced()),
        ];
        all.into_iter().filter(|(_, synced)| !synced).map(|(name, _)| name).collect()
    }

    /// Every namespace that anything is known of.
    pub(crate) fn all_namespaces(&self) -> Vec<String> {
        let mut all = self.namespaces.namespaces();
        // Those of which the namespace itself has not been seen yet.
        all.extend(self.policies.namespaces());
        all.sort();
        all.dedup();
        all
    }

    /// The pods of a namespace, with and without a sidecar.
    pub(crate) fn pods(&self, namespace: &str) -> Vec<Arc<PodFacts>> {
        let mut pods = self.injected.of(namespace);
        pods.extend(self.plain.of(namespace));
        pods
    }

    /// How many pods there are of each kind that matters.
    pub(crate) fn pod_counts(&self) -> PodCounts {
        let mut counts = PodCounts::default();
        for name in self.namespaces.namespaces() {
            let Some(namespace) = self.namespaces.get(&name, "") else { continue };
            for pod in self.pods(&name) {
                match pod.sidecar {
                    Sidecar::Started => counts.started += 1,
                    Sidecar::Starting => counts.starting += 1,
                    Sidecar::Absent if pod.asked(&namespace) => counts.without += 1,
                    Sidecar::Absent => {}
                }
            }
        }
        counts
    }
}
