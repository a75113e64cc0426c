//! A policy in the form that runs: everything in it is valid. Made by [`crate::compile`] only.

use weir_limiter::{Limit, Slowdown};

use crate::client_address::{Client, ClientAddress};
pub use crate::cost::{Cost, CostSource};
use crate::exemption::Exemption;
use crate::fault::Fault;
use crate::key::Key;
use crate::request_match::CompiledMatch;
use crate::response::ResponseOptions;
use crate::seen::Seen;
use crate::selector::Selector;
use crate::source::Source;
pub use crate::spec::{Enforcement, OnMissingKey, OnStoreFailure};
use crate::tier::Tier;

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
    /// Who the client of a request is.
    pub(crate) client_address: ClientAddress,
    /// What no limit of it sees.
    pub(crate) exempt: Vec<Exemption>,
    /// Its limits, ordered by name.
    pub limits: Vec<PolicyLimit>,
    /// What clients are told about its limits.
    pub response: ResponseOptions,
    /// What is valid and may still surprise, for the status and the log.
    pub warnings: Vec<Fault>,
}

/// A valid limit of a policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyLimit {
    /// The name, unique in the policy.
    pub name: String,
    /// Algorithm, quota and capacity; of a queue also how long a request waits at most.
    pub limit: Limit,
    /// Other quotas and capacities for some of its requests; the first that matches applies.
    pub(crate) tiers: Vec<Tier>,
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

impl Policy {
    /// True when no limit of it sees the request.
    pub(crate) fn exempts(&self, request: &Seen<'_, '_>, client: &Client<'_>) -> bool {
        self.exempt.iter().any(|exemption| exemption.holds(request, client))
    }

    /// True when it reads a header of which `is` holds.
    pub(crate) fn reads(&self, is: impl Fn(&str) -> bool + Copy) -> bool {
        self.client_address.header_name().is_some_and(|name| is(name.as_str()))
            || self.exempt.iter().any(|exemption| exemption.reads(is))
            || self.limits.iter().any(|limit| limit.reads(is))
    }
}

impl PolicyLimit {
    /// What it reads of a request by name, to count it.
    fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.keys.iter().filter_map(Key::source).chain(self.cost.source())
    }

    fn reads(&self, is: impl Fn(&str) -> bool + Copy) -> bool {
        self.matches.reads(is)
            || self.tiers.iter().any(|tier| tier.matches.reads(is))
            || self.sources().filter_map(Source::header_name).any(|name| is(name.as_str()))
    }
}
