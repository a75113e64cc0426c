//! What the sidecar counts, for Prometheus. No label has values that a client controls: policies, limits, and fixed words.
mod store;
#[cfg(test)]
mod tests;
mod waiting;

pub use store::{StoreMetrics, state_name};
pub use waiting::WaitingMetrics;

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Type of the text that [`Metrics::encode`] gives.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All metrics of one sidecar.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    decisions: Family<DecisionLabels, Counter>,
    generations: Family<PolicyLabels, Gauge>,
    reloads: Family<ReloadLabels, Counter>,
    /// Seconds from the request's head to the decision, the store's answer included.
    pub decision_seconds: Histogram,
    /// What the store's calls came to.
    pub store: Arc<StoreMetrics>,
    /// Requests that wait for their turn.
    pub waiting: WaitingMetrics,
}

/// The counters of one limit, looked up once when its policy comes into force.
#[derive(Clone, Debug)]
pub struct LimitCounters {
    /// Counted by this limit and admitted; of a shadow limit: what it would have admitted.
    pub admitted: Counter,
    /// Held back by this limit: its turn in a queue, or slowed down. Counted when the wait begins.
    pub delayed: Counter,
    /// Left before its turn, and was given back.
    pub left: Counter,
    /// Answered 503 because the sidecar ends before its turn, and was given back.
    pub turned_away: Counter,
    /// Refused because of this limit.
    pub refused: Counter,
    /// Of a shadow limit: what it would have refused, were it enforced.
    pub shadow_refused: Counter,
    /// A key was missing: counted under what stands for it, or answered 400.
    pub missing_key: Counter,
    /// A key was missing, and this limit let the request go uncounted.
    pub skipped: Counter,
    /// Its policy exempts the request.
    pub exempt: Counter,
    /// A key had two values or two spellings, or was too long: answered 400 or 431.
    pub key_ambiguous: Counter,
    /// The store did not decide: passed or answered 503, as the policy says.
    pub store_failed: Counter,
}

/// How a look at the policies ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReloadResult {
    /// All of it is in force.
    Applied,
    /// One or more policies can't be taken; of those the last good version stays.
    Partial,
    /// The whole can't be read; the last good one stays.
    Kept,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DecisionLabels {
    policy: String,
    limit: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PolicyLabels {
    policy: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReloadLabels {
    result: &'static str,
}

const OUTCOMES: [&str; 11] = [
    "admitted",
    "delayed",
    "left",
    "turned_away",
    "refused",
    "shadow_refused",
    "missing_key",
    "skipped",
    "exempt",
    "key_ambiguous",
    "store_failed",
];

impl Metrics {
    /// All at zero; `extend` registers what other rooms count, under names of its own.
    #[must_use]
    pub fn new(extend: impl FnOnce(&mut Registry)) -> Self {
        let mut registry = Registry::default();
        let (decisions, generations, reloads) = (Family::default(), Family::default(), Family::default());
        // 50 µs to 0.5 s: a decision in memory takes microseconds, one in Redis ends at 50 ms; beyond that the machine was busy
        let decision_seconds =
            Histogram::new([0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5]);
        registry.register("weir_decisions", "Requests by limit and by what became of them", decisions.clone());
        registry.register(
            "weir_decision_seconds",
            "Time from a request's head to its decision",
            decision_seconds.clone(),
        );
        registry.register(
            "weir_policy_generation",
            "The generation of each policy that is in force",
            generations.clone(),
        );
        registry.register(
            "weir_policy_reloads",
            "Looks at changed policies by result: applied, partial, kept",
            reloads.clone(),
        );
        for result in [ReloadResult::Applied, ReloadResult::Partial, ReloadResult::Kept] {
            drop(reloads.get_or_create(&ReloadLabels { result: result.name() }));
        }
        let store = Arc::new(StoreMetrics::new(&mut registry));
        let waiting = WaitingMetrics::new(&mut registry);
        extend(&mut registry);
        Self { registry, decisions, generations, reloads, decision_seconds, store, waiting }
    }

    /// The counters of a limit, from now on in the text, at zero.
    #[must_use]
    pub fn limit(&self, policy: &str, limit: &str) -> LimitCounters {
        let counter = |outcome| {
            let labels = DecisionLabels { policy: policy.to_owned(), limit: limit.to_owned(), outcome };
            self.decisions.get_or_create_owned(&labels)
        };
        let [
            admitted,
            delayed,
            left,
            turned_away,
            refused,
            shadow_refused,
            missing_key,
            skipped,
            exempt,
            key_ambiguous,
            store_failed,
        ] = OUTCOMES.map(counter);
        LimitCounters {
            admitted,
            delayed,
            left,
            turned_away,
            refused,
            shadow_refused,
            missing_key,
            skipped,
            exempt,
            key_ambiguous,
            store_failed,
        }
    }

    /// Takes the counters of a limit out of the text: its policy is gone, and gone policies must not gather for ever.
    pub fn forget_limit(&self, policy: &str, limit: &str) {
        for outcome in OUTCOMES {
            self.decisions.remove(&DecisionLabels { policy: policy.to_owned(), limit: limit.to_owned(), outcome });
        }
    }

    /// These are the generations in force, and no others.
    pub fn generations<'p>(
        &self,
        before: impl IntoIterator<Item = &'p str>,
        now: impl IntoIterator<Item = (&'p str, i64)>,
    ) {
        let mut gone: BTreeSet<&str> = before.into_iter().collect();
        for (policy, generation) in now {
            gone.remove(policy);
            self.generations.get_or_create(&PolicyLabels { policy: policy.to_owned() }).set(generation);
        }
        for policy in gone {
            self.generations.remove(&PolicyLabels { policy: policy.to_owned() });
        }
    }

    /// Counts one look at changed policies.
    pub fn reloaded(&self, result: ReloadResult) {
        self.reloads.get_or_create(&ReloadLabels { result: result.name() }).inc();
    }

    /// Everything in the Prometheus text format.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // writing to a String can't fail
        let _ = prometheus_text::encode(&mut text, &self.registry);
        text
    }
}

impl ReloadResult {
    /// The value of the label `result`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Partial => "partial",
            Self::Kept => "kept",
        }
    }
}
