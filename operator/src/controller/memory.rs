//! What the leader remembers of one namespace from look to look. It begins empty with each term: what another replica did in
//! between stands in the cluster.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use weir_crds::RateLimitPolicyStatus;
use weir_policy::{Faults, Policy, PolicyDocument};

use super::facts::Version;
use super::pause::Pause;
use crate::document::Built;
use crate::nudge::Nudges;
use crate::rollout::{HandedOut, Rollout, Timings};
use crate::store_secret::StoreSecret;

/// uid and generation of every policy.
pub(super) type BuiltFrom = Vec<(String, i64)>;

/// One namespace.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// Of the namespace that this is about: a recreated one is another.
    pub(super) uid: String,
    /// Verdicts by policy uid.
    pub(super) compiled: HashMap<String, (i64, Arc<Result<Policy, Faults>>)>,
    /// The last document, and the uids and generations that it was built from.
    pub(super) built: Option<(BuiltFrom, Arc<Built>)>,
    /// The last document that is known to stand in the ConfigMap.
    pub(super) good: Option<Arc<PolicyDocument>>,
    /// The document for which `handed_out` was compiled.
    pub(super) handed_out: Option<(Arc<Built>, Arc<Vec<HandedOut>>)>,
    /// What was written last.
    pub(super) config_map: Option<WrittenMap>,
    /// One that could not be written, and why; another one is tried at once.
    pub(super) config_map_refused: Option<(Arc<Built>, String, Pause)>,
    pub(super) secret: Option<(Arc<StoreSecret>, Instant)>,
    pub(super) secret_refused: Option<(Arc<StoreSecret>, Pause)>,
    /// By policy uid.
    pub(super) statuses: HashMap<String, WrittenStatus>,
    /// By policy uid: those that could not be written.
    pub(super) statuses_refused: HashMap<String, Pause>,
    pub(super) nudges: Nudges,
    /// The last revision, and the pods that have reported it: they need no nudge while the store can't be asked.
    pub(super) confirmed: (String, HashSet<String>),
    pub(super) rollout: Rollout,
    pub(super) timings: Timings,
    /// Events that were sent, by name.
    pub(super) told: HashSet<String>,
    /// One could not be sent: none is until then.
    pub(super) events_refused: Option<Pause>,
    pub(super) drift_told: Option<Instant>,
    pub(super) store_failing: Option<Instant>,
    /// Since when nothing in the namespace needs what stands there.
    pub(super) unused: Option<Instant>,
    /// The last look failed.
    pub(super) failed: Option<Pause>,
}

/// A ConfigMap that was written.
#[derive(Debug)]
pub(super) struct WrittenMap {
    pub(super) json: String,
    pub(super) version: Version,
    pub(super) at: Instant,
    /// The watch has shown this version or a later one.
    pub(super) shown: bool,
}

/// A status that was written.
#[derive(Debug)]
pub(super) struct WrittenStatus {
    pub(super) status: RateLimitPolicyStatus,
    pub(super) version: Version,
    pub(super) at: Instant,
}
