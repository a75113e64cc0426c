//! Step 4, apply: sends what was built, in an order in which nothing is promised before it is so: Secret, ConfigMap, and then
//! the nudges. Has a client. A part that fails keeps no other from being sent, but for the nudges, which would tell pods of a
//! document that isn't there.

use futures_util::{StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value, json};
use tracing::{debug, info, warn};

use super::build::{Prepared, standing};
use super::dereference::Observed;
use super::facts::Version;
use super::memory::{Memory, WrittenMap};
use super::pause::Pause;
use super::{FIELD_MANAGER, is_gone};
use crate::clock;
use crate::document::{self, CONFIG_MAP, LARGEST};
use crate::inject::annotations::REVISION;
use crate::metrics::{Metrics, Write};
use crate::nudge::Nudge;
use crate::status::HeldBack;
use crate::store_secret::SECRET;

/// Nudges under way at once.
const AT_ONCE: usize = 8;

/// What stands in the cluster now.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// uid and generation of each policy that the ConfigMap holds.
    pub(super) handed_out: Vec<(String, i64)>,
    /// Why a policy that isn't among them is not.
    pub(super) held_back: Option<HeldBack>,
    /// The first part that failed.
    pub(super) error: Option<Error>,
}

/// What can fail.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("write secret {SECRET}: {0}")]
    Secret(#[source] Box<kube::Error>),
    #[error("write config map {CONFIG_MAP}: {0}")]
    ConfigMap(#[source] Box<kube::Error>),
    #[error("nudge pod {0}: {1}")]
    Nudge(String, #[source] Box<kube::Error>),
    #[error("remove {0}: {1}")]
    Remove(&'static str, #[source] Box<kube::Error>),
}

pub(super) async fn apply(
    client: &Client,
    observed: &Observed,
    prepared: Prepared,
    memory: &mut Memory,
    metrics: &Metrics,
) -> Applied {
    let Prepared { remove, secret, config_map, refused, nudges, events, document, next: _ } = prepared;
    let namespace = observed.namespace.as_str();
    let mut applied = Applied::default();
    if remove {
        match removed(client, observed).await {
            Ok(()) => info!(namespace, "removed what no pod needs any more"),
            Err(error) => applied.error = Some(error),
        }
        return applied;
    }

    if let Some(secret) = secret {
        let result = patch::<Secret>(client, namespace, SECRET, &secret.to_object(namespace)).await;
        metrics.wrote(Write::Secret, result.is_ok());
        match result {
            Ok(_) => {
                memory.secret = Some((secret, clock::instant()));
                memory.secret_refused = None;
            }
            Err(error) => {
                let pause = memory.secret_refused.take().map(|(_, pause)| pause);
                memory.secret_refused = Some((secret, Pause::after(pause, clock::instant())));
                applied.error = Some(Error::Secret(error));
            }
        }
    }

    let mut stands = refused.is_none();
    applied.held_back = refused.map(HeldBack::WriteFailed);
    if let Some(built) = config_map {
        let object = document::config_map(namespace, &built.json);
        let result = patch::<ConfigMap>(client, namespace, CONFIG_MAP, &object).await;
        metrics.wrote(Write::ConfigMap, result.is_ok());
        match result {
            Ok(written) => {
                info!(
                    namespace,
                    policies = built.document.policies.len(),
                    bytes = built.json.len(),
                    "wrote the document"
                );
                memory.config_map_refused = None;
                memory.good = Some(built.document.clone().into());
                let version = Version::of(&written);
                memory.config_map =
                    Some(WrittenMap { json: built.json.clone(), version, at: clock::instant(), shown: false });
            }
            Err(error) => {
                stands = false;
                let why = said(&error);
                let pause = memory.config_map_refused.take().map(|(.., pause)| pause);
                memory.config_map_refused = Some((built, why.clone(), Pause::after(pause, clock::instant())));
                applied.held_back = Some(HeldBack::WriteFailed(why));
                applied.error.get_or_insert(Error::ConfigMap(error));
            }
        }
    }

    let standing_before;
    let policies = match &document {
        Some((built, _)) if stands => {
            applied.held_back = built.too_large.map(|bytes| HeldBack::TooLarge { bytes, most: LARGEST });
            &built.document.policies
        }
        _ => {
            standing_before = standing(observed).policies;
            &standing_before
        }
    };
    applied.handed_out = policies.iter().map(|entry| (entry.uid.clone(), entry.generation)).collect();

    if stands {
        for (pod, result) in send_nudges(client, namespace, nudges).await {
            metrics.wrote(Write::Nudge, result.is_ok());
            if let Err(error) = result {
                applied.error.get_or_insert(Error::Nudge(pod, error));
            }
        }
    }
    send_events(client, namespace, events, memory, metrics).await;
    applied
}

/// Server-side apply: made if it is absent; what others own of it stays.
async fn patch<K>(client: &Client, namespace: &str, name: &str, object: &Value) -> Result<K, Box<kube::Error>>
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    api.patch(name, &PatchParams::apply(FIELD_MANAGER).force(), &Patch::Apply(object)).await.map_err(Box::new)
}

/// By way of the status: a right to patch pods themselves would let this token replace any image.
async fn send_nudges(
    client: &Client,
    namespace: &str,
    nudges: Vec<(String, Nudge)>,
) -> Vec<(String, Result<(), Box<kube::Error>>)> {
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let send = |(pod, nudge): (String, Nudge)| {
        let api = api.clone();
        async move {
            // With the uid, so that a namesake that came since is left alone.
            let patch = json!({"metadata": {"uid": nudge.pod_uid, "annotations": {REVISION: nudge.value}}});
            let result = api.patch_status(&pod, &PatchParams::default(), &Patch::Merge(&patch)).await;
            let result = match result {
                Ok(_) => Ok(()),
                Err(error) if is_gone(&error) => Ok(()),
                Err(error) => Err(Box::new(error)),
            };
            debug!(pod, value = nudge.value, "nudged");
            (pod, result)
        }
    };
    stream::iter(nudges.into_iter().map(send)).buffer_unordered(AT_ONCE).collect().await
}

/// Events are for people: one that can't be sent is logged, and fails nothing. The others wait with it.
async fn send_events(client: &Client, namespace: &str, events: Vec<Event>, memory: &mut Memory, metrics: &Metrics) {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    for event in events {
        let name = event.metadata.name.clone().unwrap_or_default();
        let sent = match api.create(&PostParams::default(), &event).await {
            Ok(_) => true,
            // Another replica was first.
            Err(kube::Error::Api(status)) if status.code == 409 => true,
            Err(error) => {
                warn!(namespace, name, %error, "an event was not sent");
                false
            }
        };
        metrics.wrote(Write::Event, sent);
        if !sent {
            memory.events_refused = Some(Pause::after(memory.events_refused, clock::instant()));
            return;
        }
        memory.events_refused = None;
        memory.told.insert(name);
    }
}

/// The Secret first: the ConfigMap is what shows that there is something left to remove.
async fn removed(client: &Client, observed: &Observed) -> Result<(), Error> {
    let namespace = observed.namespace.as_str();
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    gone(secrets.delete(SECRET, &DeleteParams::default()).await, |e| Error::Remove("secret", e))?;
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let uid = observed.document.as_ref().map(|document| document.uid.clone());
    let this_one =
        DeleteParams { preconditions: Some(Preconditions { uid, resource_version: None }), ..Default::default() };
    gone(maps.delete(CONFIG_MAP, &this_one).await, |e| Error::Remove("config map", e))
}

/// What the API server said, for a person: without the whole answer behind it.
fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        error => error.to_string(),
    }
}

fn gone<T>(result: kube::Result<T>, error: impl FnOnce(Box<kube::Error>) -> Error) -> Result<(), Error> {
    match result {
        Ok(_) => Ok(()),
        Err(e) if is_gone(&e) => Ok(()),
        Err(e) => Err(error(Box::new(e))),
    }
}

// === impl Error ===

impl Error {
    /// For the metric.
    pub(super) fn category(&self) -> &'static str {
        match self {
            Self::Secret(_) => "apply_secret",
            Self::ConfigMap(_) => "apply_config_map",
            Self::Nudge(..) => "apply_nudge",
            Self::Remove(..) => "apply_remove",
        }
    }
}
