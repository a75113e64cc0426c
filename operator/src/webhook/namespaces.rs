//! What the injector must know of namespaces: their labels, from a watch, and from the API server for one that the watch has
//! not seen yet. Has a client.

use std::collections::BTreeMap;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};

use crate::controller::ANEW_AFTER;
use crate::inject::NamespaceFacts;

/// Labels only: nothing else of a namespace is held in memory.
type Watched = PartialObjectMeta<Namespace>;

/// The namespaces of the cluster, or a fixed list of them.
#[derive(Clone)]
pub struct Namespaces(Source);

#[derive(Clone)]
enum Source {
    Cluster { seen: Store<Watched>, client: Client },
    Fixed(BTreeMap<String, NamespaceFacts>),
}

/// Nothing could be learned of a namespace.
#[derive(Debug, thiserror::Error)]
#[error("read namespace {name}: {reason}")]
pub struct NamespaceUnknown {
    name: String,
    reason: String,
}

// === impl Namespaces ===

impl Namespaces {
    /// The cluster's namespaces, and the watch to run beside: it never ends.
    pub fn watch(client: Client) -> (Self, impl Future<Output = ()> + Send) {
        let (seen, writer) = reflector::store();
        let api: Api<Watched> = Api::all(client.clone());
        let watch = watcher(api, watcher::Config::default().timeout(ANEW_AFTER)).default_backoff().reflect(writer);
        let run = watch.for_each(|event| async move {
            if let Err(error) = event {
                tracing::warn!(%error, "watching namespaces failed, trying again");
            }
        });
        (Self(Source::Cluster { seen, client }), run)
    }

    /// These and no others; for tests.
    #[must_use]
    pub fn fixed(facts: impl IntoIterator<Item = NamespaceFacts>) -> Self {
        Self(Source::Fixed(facts.into_iter().map(|facts| (facts.name.clone(), facts)).collect()))
    }

    /// Resolves once all namespaces have been seen; part of being ready.
    pub async fn synced(&self) {
        if let Source::Cluster { seen, .. } = &self.0 {
            // It fails only when the watch is gone, and then this waits for ever.
            if seen.wait_until_ready().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What is known of the namespace `name`.
    ///
    /// # Errors
    /// When it was never seen and the API server doesn't tell either.
    pub async fn facts(&self, name: &str) -> Result<NamespaceFacts, NamespaceUnknown> {
        let unknown = |reason: String| NamespaceUnknown { name: name.to_owned(), reason };
        match &self.0 {
            Source::Fixed(facts) => facts.get(name).cloned().ok_or_else(|| unknown("not in the list".into())),
            Source::Cluster { seen, client } => {
                if let Some(namespace) = seen.get(&ObjectRef::new(name)) {
                    return Ok(from_metadata(name, &namespace));
                }
                // Made a moment ago: the pod may be faster than our watch.
                let api: Api<Watched> = Api::all(client.clone());
                let namespace = api.get(name).await.map_err(|e| unknown(e.to_string()))?;
                Ok(from_metadata(name, &namespace))
            }
        }
    }
}

impl std::fmt::Debug for Namespaces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Namespaces")
    }
}

fn from_metadata(name: &str, namespace: &Watched) -> NamespaceFacts {
    NamespaceFacts::from_labels(name, namespace.metadata.labels.iter().flatten())
}
