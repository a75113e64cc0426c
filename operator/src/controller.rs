//! The controller: looks at one namespace after another, those in which something changed, in five steps.
//!
//! ```text
//! dereference  caches, store's client   what there is
//! validate     no client                what each policy means
//! build        no client                what is to be written
//! apply        client                   ConfigMap, Secret, nudges, events
//! update       client                   the status of each policy
//! ```
//!
//! Only the leader runs it, and drops it as a whole when it no longer leads: everything it does, it does inside its own
//! future.

mod apply;
mod build;
mod cache;
mod dereference;
mod facts;
mod memory;
mod pause;
mod queue;
mod update_status;
mod validate;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use kube::Client;
use tracing::{debug, warn};
use weir_store::Store;

use crate::clock;
use crate::events::Reporter;
use crate::leader::Lead;
use crate::metrics::Metrics;
use crate::nudge::Budget;
use crate::store_secret::StoreSecret;
use build::Surroundings;
pub(crate) use facts::{DocumentFacts, PodFacts};
#[cfg(test)]
pub(crate) use facts::{Owner, Sidecar};
use memory::Memory;
use pause::Pause;
pub(crate) use queue::Queue;
pub(crate) use watch::{ANEW_AFTER, Caches, watch};

/// Owner, in the API server's books, of what the controller writes.
const FIELD_MANAGER: &str = "weir-operator";
/// Namespaces looked at at once.
const AT_ONCE: usize = 8;
/// Nudges a second, all namespaces together.
const NUDGES_PER_SECOND: u32 = 50;
/// The soonest next look after one that failed.
const LEAST_PAUSE: Duration = Duration::from_millis(500);
/// A look that takes longer is broken off, and begun anew: an API server that went away in the middle of a request may never
/// answer it, and no other look at the namespace begins before this one has ended.
const LOOK_WITHIN: Duration = Duration::from_secs(30);

/// What the controller works with.
pub(crate) struct Controller {
    client: Client,
    store: Store,
    lead: Lead,
    caches: Arc<Caches>,
    queue: Arc<Queue>,
    secret: tokio::sync::watch::Receiver<Arc<StoreSecret>>,
    reporter: Reporter,
    metrics: Arc<Metrics>,
    memories: Mutex<HashMap<String, Memory>>,
    budget: Mutex<Budget>,
    look_within: Duration,
}

/// The steps that can fail; that a policy is wrong is no failure.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Apply(#[from] apply::Error),
    #[error(transparent)]
    UpdateStatus(#[from] update_status::Error),
    #[error("the API server did not answer in time")]
    Timeout,
}

// === impl Controller ===

impl Controller {
    pub(crate) fn new(
        client: Client,
        store: Store,
        lead: Lead,
        (caches, queue): (Arc<Caches>, Arc<Queue>),
        secret: tokio::sync::watch::Receiver<Arc<StoreSecret>>,
        reporter: Reporter,
        metrics: Arc<Metrics>,
    ) -> Self {
        let budget = Mutex::new(Budget::new(NUDGES_PER_SECOND, clock::instant()));
        Self {
            client,
            store,
            lead,
            caches,
            queue,
            secret,
            reporter,
            metrics,
            memories: Mutex::default(),
            budget,
            look_within: LOOK_WITHIN,
        }
    }

    /// Looks at all namespaces once, and then at each in which something changes, for as long as it is polled.
    pub(crate) async fn run(&self) {
        self.queue.schedule().restart(clock::instant());
        self.touch_all();
        let mut secret = self.secret.clone();
        secret.mark_unchanged();
        let mut looks = FuturesUnordered::new();
        loop {
            tokio::select! {
                namespace = self.queue.pop(), if looks.len() < AT_ONCE => looks.push(self.look(namespace)),
                Some(()) = looks.next(), if !looks.is_empty() => {}
                Ok(()) = secret.changed() => self.touch_all(),
            }
        }
    }

    fn touch_all(&self) {
        for namespace in self.caches.all_namespaces() {
            self.queue.touch(&namespace);
        }
    }

    /// One look at one namespace.
    async fn look(&self, namespace: String) {
        let mut memory = self.memories().remove(&namespace).unwrap_or_default();
        let looked = tokio::time::timeout(self.look_within, self.reconcile(&namespace, &mut memory)).await;
        let (next, error) = looked.unwrap_or((None, Some(Error::Timeout)));
        let next = match &error {
            None => {
                memory.failed = None;
                self.metrics.reconciled("ok");
                next
            }
            Some(error) => {
                let now = clock::instant();
                let failed = Pause::after(memory.failed, now);
                memory.failed = Some(failed);
                let pause = failed.left(now).unwrap_or_default();
                self.metrics.reconciled(error.category());
                warn!(namespace, %error, retry_in = ?pause, "a look at the namespace failed");
                Some(next.map_or(pause, |next| next.max(LEAST_PAUSE).min(pause)))
            }
        };
        debug!(namespace, ?next, "looked at");
        // Nothing to wait for, nothing to remember.
        if next.is_some() {
            self.memories().insert(namespace.clone(), memory);
        }
        self.queue.schedule().done(&namespace, next.map(|pause| clock::instant() + pause));
    }

    /// The five steps; the answer is when to look again though nothing changes.
    async fn reconcile(&self, namespace: &str, memory: &mut Memory) -> (Option<Duration>, Option<Error>) {
        let observed = dereference::dereference(&self.caches, &self.store, namespace, memory).await;
        if memory.uid != observed.state.uid {
            *memory = Memory { uid: observed.state.uid.clone(), ..Memory::default() };
        }
        let checked = validate::validate(&observed.policies, memory);
        let secret = self.secret.borrow().clone();
        let prepared = {
            let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
            let around = Surroundings {
                secret: &secret,
                reporter: &self.reporter,
                budget: &mut budget,
                now: clock::instant(),
                time: clock::now(),
            };
            build::build(&observed, &checked, memory, around)
        };
        let next = prepared.next;
        if observed.state.terminating {
            return (None, None);
        }
        // Whoever drops this future may be late, when the whole process stood still: nothing is written on an old right.
        if !self.lead.is_held() {
            return (next, None);
        }
        let applied = apply::apply(&self.client, &observed, prepared, memory, &self.metrics).await;
        if !self.lead.is_held() {
            return (next, None);
        }
        let key = secret.install_key_id();
        let updated =
            update_status::update_status(&self.client, &observed, &checked, &applied, &key, memory, &self.metrics)
                .await;
        let next = next.into_iter().chain(updated.next).min();
        let error = applied.error.map(Error::from).or(updated.error.map(Error::from));
        (next, error)
    }

    fn memories(&self) -> std::sync::MutexGuard<'_, HashMap<String, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The object has gone, or its namespace is going, or it was made again: there is nothing left to write to.
fn is_gone(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404 || status.code == 409)
}

// === impl Error ===

impl Error {
    /// For the metric.
    fn category(&self) -> &'static str {
        match self {
            Self::Apply(error) => error.category(),
            Self::UpdateStatus(error) => error.category(),
            Self::Timeout => "timeout",
        }
    }
}

#[cfg(test)]
mod tests;
