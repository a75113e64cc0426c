//! A policy in the form that runs: everything in it is valid. Made by [`crate::compile`] only.

use weir_limiter::{Limit, Slowdown};

use crate::client_address::ClientAddress;
pub use crate::cost::Cost;
use crate::fault::Fault;
use crate::key::Key;
use crate::request_match::CompiledMatch;
use crate::response::ResponseOptions;
use crate::selector::Selector;
pub use crate::spec::{Enforcement, OnMissingKey, OnStoreFailure};

/// Which policy, in which version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PolicyId {
    /// The namespace.
    pub namespace: String,
    /// The name, unique in the namespace.
    pub name: String,
    /// The resource's uid; empty for a policy from a local file.
    pub uid: String,
    /// The resource's generation, from 1 on.
    pub generation: i64,
}

/// A valid policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which policy, in which version.
    pub id: PolicyId,
    /// The pods it is for.
    pub selector: Selector,
    /// What happens to its requests while the store is away.
    pub on_store_failure: OnStoreFailure,
    /// Its limits, ordered by name.
    pub limits: Vec<PolicyLimit>,
    /// What clients are told about its limits.
    pub response: ResponseOptions,
    /// What is valid and may still surprise, for the status and the log.
    pub warnings: Vec<Fault>,
    pub(crate) client_address: ClientAddress,
}

/// A valid limit of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyLimit {
    /// The name, unique in the policy.
    pub name: String,
    /// Algorithm, quota and capacity; of a queue also how long a request waits at most.
    pub limit: Limit,
    /// What one request costs. The count does not depend on it.
    pub cost: Cost,
    /// How long what is admitted is held up, if at all. Never of a queue.
    pub slowdown: Option<Slowdown>,
    /// Of a queue, and only of one: how many requests wait in one sidecar, 1 to 10000.
    pub max_waiting: Option<u32>,
    /// Whether it refuses. Shadow when the policy is.
    pub enforcement: Enforcement,
    pub(crate) matches: CompiledMatch,
    pub(crate) keys: Vec<Key>,
    pub(crate) on_missing_key: OnMissingKey,
}
