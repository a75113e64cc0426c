//! The policies in force, with what each decision needs at hand: where a limit's counts lie and what counts it.
use crate::metrics::{LimitCounters, Metrics};
use crate::reload::known::Running;
use std::collections::HashMap;
use std::ptr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use weir_policy::{Policy, PolicyLimit, RouteTable};
use weir_store::Namespace;

/// One generation of everything. It is never changed, only replaced.
#[derive(Debug, Default)]
pub struct Table {
    /// What a request is held against.
    pub routes: RouteTable,
    /// By the limit's address, which stays as long as `routes` holds its policy.
    limits: HashMap<usize, LimitEntry>,
}

/// What belongs to one limit besides its rules.
#[derive(Debug)]
pub struct LimitEntry {
    /// The namespace its counts lie under.
    pub namespace: Namespace,
    /// Its metrics.
    pub counters: LimitCounters,
    /// How many requests may wait in its queue.
    pub waiting: Option<Places>,
}

/// The places in the queue of one limit.
#[derive(Clone, Debug)]
pub struct Places {
    /// All of them.
    pub most: u32,
    /// Those that are free.
    pub free: Arc<Semaphore>,
}

impl Table {
    /// A table of these policies; their metrics appear. Who waits in a queue of the table before goes on doing so, and takes
    /// a place of the same limit's here.
    #[must_use]
    pub fn new(policies: Vec<Running>, metrics: &Metrics, before: &Self) -> Self {
        let mut limits = HashMap::new();
        for Running { policy, namespace } in &policies {
            let label = label(policy);
            for limit in &policy.limits {
                let counters = metrics.limit(&label, &limit.name);
                let waiting = limit.max_waiting.map(|most| before.places(policy, &limit.name, most));
                let entry = LimitEntry { namespace: namespace.clone(), counters, waiting };
                limits.insert(ptr::from_ref(limit).addr(), entry);
            }
        }
        let routes = RouteTable::new(policies.into_iter().map(|running| running.policy).collect());
        Self { routes, limits }
    }

    /// What belongs to a limit that `routes` has given out.
    #[must_use]
    pub fn entry(&self, limit: &PolicyLimit) -> Option<&LimitEntry> {
        self.limits.get(&ptr::from_ref(limit).addr())
    }

    /// The places of a limit that this table has already, or new ones.
    fn places(&self, policy: &Policy, limit: &str, most: u32) -> Places {
        let same = |other: &&std::sync::Arc<Policy>| {
            other.id.namespace == policy.id.namespace && other.id.name == policy.id.name
        };
        let other = self.routes.policies().iter().find(same);
        let other = other.and_then(|policy| policy.limits.iter().find(|other| other.name == limit));
        let places = other.and_then(|other| self.entry(other)?.waiting.clone());
        let new = || Places { most, free: Arc::new(Semaphore::new(most as usize)) };
        places.filter(|places| places.most == most).unwrap_or_else(new)
    }

    /// The names of all limits as metrics know them: policy and limit.
    pub fn names(&self) -> impl Iterator<Item = (String, &str)> {
        self.routes.policies().iter().flat_map(|policy| {
            let label = label(policy);
            policy.limits.iter().map(move |limit| (label.clone(), limit.name.as_str()))
        })
    }
}

/// A policy's name in metrics.
#[must_use]
pub fn label(policy: &Policy) -> String {
    format!("{}/{}", policy.id.namespace, policy.id.name)
}
