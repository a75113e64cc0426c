//! The decision about one request: what limits see it, what the store says, what the client is told. It knows no
//! connection: the proxy asks it once for each request and acts on the ruling.
mod admission;
pub mod numbers;
mod rate_limit_fields;
mod refusal;
mod shadow;
pub mod table;
#[cfg(test)]
mod tests;
mod told;
mod waiting;

pub use refusal::WEIR_ERROR;

use crate::clock;
use crate::log::sampler::Sampler;
use crate::metrics::{LimitCounters, Metrics};
use crate::proxy::gate::{Gate, LimitHeaders, Ruling};
use crate::reload::known::Running;
use admission::Admitted;
use arc_swap::ArcSwap;
use http::HeaderName;
use http::request::Parts;
use numbers::Refusing;
use shadow::{Shadow, Shadows};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use table::{LimitEntry, Table};
use told::Moment;
use waiting::WaitingRoom;
use weir_limiter::{Check, Decision};
use weir_policy::{LimitCheck, Lookup, NoteKind, OnStoreFailure, Rejection, RejectionReason, RequestView};
use weir_store::{StateKey, Store, StoreError};

/// Refusals that are logged each second; the others are counted in metrics and, at debug, logged too.
const REFUSALS_LOGGED: u32 = 10;

/// The policies in force, and where they count.
#[derive(Debug)]
pub struct Enforcer {
    table: ArcSwap<Table>,
    store: Store,
    shadows: Shadows,
    room: WaitingRoom,
    metrics: Arc<Metrics>,
    refusals: Sampler,
    failures: Sampler,
}

impl Enforcer {
    /// Without policies: admits everything. At most `max_waiting` requests wait at once.
    #[must_use]
    pub fn new(store: Store, metrics: Arc<Metrics>, max_waiting: usize) -> Self {
        let now = clock::now();
        let (refusals, failures) = (Sampler::new(REFUSALS_LOGGED, now), Sampler::new(1, now));
        let room = WaitingRoom::new(max_waiting, metrics.waiting.clone());
        Self { table: ArcSwap::default(), store, shadows: Shadows::new(), room, metrics, refusals, failures }
    }

    /// From now on these policies are in force. Counts stay: where they lie depends on names, not on generations.
    pub fn swap(&self, policies: Vec<Running>) {
        let before = self.table.load_full();
        let next = Table::new(policies, &self.metrics, &before);
        let labels = |table: &Table| -> Vec<(String, i64)> {
            table.routes.policies().iter().map(|p| (table::label(p), p.id.generation)).collect()
        };
        let (old, new) = (labels(&before), labels(&next));
        let kept: std::collections::BTreeSet<_> = next.names().collect();
        for (policy, limit) in before.names().filter(|name| !kept.contains(name)) {
            self.metrics.forget_limit(&policy, limit);
        }
        drop(kept);
        self.table.store(Arc::new(next));
        let old = old.iter().map(|(label, _)| label.as_str());
        self.metrics.generations(old, new.iter().map(|(label, generation)| (label.as_str(), *generation)));
    }

    /// Decides about one request.
    pub async fn decide(&self, request: &Parts, has_body: bool, peer: IpAddr) -> Ruling {
        let table = self.table.load_full();
        let Parts { method, uri: target, headers, .. } = request;
        let view = RequestView { method, target, headers, has_body, peer };
        let Lookup { checks, shadows, shadow_rejections, rejected, notes } = table.routes.lookup(&view);
        for note in &notes {
            if let Some(LimitEntry { counters, .. }) = table.entry(note.limit) {
                match note.kind {
                    NoteKind::MissingKey => counters.missing_key.inc(),
                    NoteKind::Skipped => counters.skipped.inc(),
                    NoteKind::Exempt => counters.exempt.inc(),
                };
            }
        }
        if let Some(rejection) = rejected {
            return self.reject(&table, &rejection);
        }
        if checks.is_empty() {
            count_rejections(&table, &shadow_rejections);
            self.shadows.charge(&self.store, self.shadows(&table, &shadows));
            return Ruling::Admit(LimitHeaders::none());
        }
        let started = clock::now();
        let mut keyed = self.keyed(&table, &checks);
        let place = self.place(&table, request, &checks, &mut keyed);
        let decision = self.store.decide(&keyed).await;
        let now = clock::now();
        self.metrics.decision_seconds.observe(now.duration_since(started).as_secs_f64());
        match decision {
            Ok(decision) if decision.admitted => {
                let admitted = Admitted { table: &table, checks: &checks, keyed, decision, now };
                self.admit(admitted, request, place, &shadows, &shadow_rejections)
            }
            Ok(decision) => self.refuse(&table, &checks, &keyed, &decision, now),
            Err(error) => {
                let ruling = self.store_failed(&table, &checks, &error, now);
                // asking again would only add to what the store is suffering from
                if matches!(ruling, Ruling::Admit(_)) {
                    for entry in shadows.iter().filter_map(|check| table.entry(check.limit)) {
                        entry.counters.store_failed.inc();
                    }
                }
                ruling
            }
        }
    }

    /// When what shadow limits were to count is counted, and what was charged to requests that left is given back; within
    /// the store's bound.
    pub async fn settled(&self) {
        self.shadows.settled().await;
        self.store.refunded().await;
    }

    /// The limits that only count, as one request means them.
    fn shadows(&self, table: &Table, shadows: &[LimitCheck<'_>]) -> Vec<Shadow> {
        let checks = self.keyed(table, shadows);
        let counters = shadows.iter().filter_map(|check| Some(table.entry(check.limit)?.counters.clone()));
        checks.into_iter().zip(counters).map(|(check, counters)| Shadow { check, counters }).collect()
    }

    fn keyed(&self, table: &Table, checks: &[LimitCheck<'_>]) -> Vec<Check<StateKey>> {
        let install = self.store.install_key();
        let key = |check: &LimitCheck<'_>| {
            // every limit that a table gives out has its entry
            let entry = table.entry(check.limit)?;
            let key = StateKey::new(&install, &entry.namespace, check.identity.as_bytes());
            Some(Check { key, limit: check.applied, cost: check.cost })
        };
        checks.iter().filter_map(key).collect()
    }

    fn reject(&self, table: &Table, rejection: &Rejection<'_>) -> Ruling {
        if let Some(LimitEntry { counters, .. }) = table.entry(rejection.limit) {
            count_rejection(counters, rejection);
        }
        let (policy, limit, why) = (&rejection.policy.id.name, &rejection.limit.name, &rejection.reason);
        tracing::debug!(%policy, %limit, %why, "a request can't be counted and was refused");
        Ruling::Refuse(Box::new(refusal::malformed(rejection)))
    }

    fn refuse(
        &self,
        table: &Table,
        checks: &[LimitCheck<'_>],
        keyed: &[Check<StateKey>],
        decision: &Decision,
        now: Instant,
    ) -> Ruling {
        let refusing = numbers::refusing(checks, &decision.outcomes);
        for entry in refusing.iter().filter_map(|each| table.entry(each.check.limit)) {
            entry.counters.refused.inc();
        }
        if let Some(first) = refusing.first() {
            let key = checks.iter().zip(keyed).find(|(check, _)| std::ptr::eq(*check, first.check));
            self.log_refusal(first, key.map_or("", |(_, keyed)| keyed.key.short()), now);
        }
        Ruling::Refuse(Box::new(refusal::limited(&refusing, checks, moment(now))))
    }

    fn log_refusal(&self, refusing: &Refusing<'_>, key: &str, now: Instant) {
        let (policy, limit, wait) = (&refusing.check.policy.id.name, &refusing.check.limit.name, Wait(refusing.wait()));
        match self.refusals.ask(now) {
            Some(sample) => {
                let left_out = sample.left_out;
                tracing::info!(%policy, %limit, %key, %wait, left_out, "refused");
            }
            None => tracing::debug!(%policy, %limit, %key, %wait, "refused"),
        }
    }

    fn store_failed(&self, table: &Table, checks: &[LimitCheck<'_>], error: &StoreError, now: Instant) -> Ruling {
        for entry in checks.iter().filter_map(|check| table.entry(check.limit)) {
            entry.counters.store_failed.inc();
        }
        let denied = checks.iter().any(|check| check.policy.on_store_failure == OnStoreFailure::Deny);
        if let Some(sample) = self.failures.ask(now) {
            // what opened the breaker says more than that it is open
            let (store, left_out) = (self.store.status().as_str(), sample.left_out);
            let requests = if denied { "are answered 503" } else { "pass uncounted" };
            tracing::warn!(store, %error, left_out, "the store did not decide, requests {requests}");
        }
        if denied { Ruling::Refuse(Box::new(refusal::store_failed())) } else { Ruling::Admit(LimitHeaders::none()) }
    }
}

/// A wait as it is logged.
struct Wait(Option<Duration>);

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(wait) => write!(f, "{:.3}s", wait.as_secs_f64()),
            None => f.write_str("never"),
        }
    }
}

impl Gate for Enforcer {
    async fn rule(&self, request: &Parts, has_body: bool, peer: IpAddr) -> Ruling {
        self.decide(request, has_body, peer).await
    }

    fn reads(&self, name: &HeaderName) -> bool {
        self.table.load().routes.reads(name)
    }
}

fn count_rejections(table: &Table, rejections: &[Rejection<'_>]) {
    for rejection in rejections {
        if let Some(LimitEntry { counters, .. }) = table.entry(rejection.limit) {
            count_rejection(counters, rejection);
            counters.shadow_refused.inc();
        }
    }
}

fn count_rejection(counters: &LimitCounters, rejection: &Rejection<'_>) {
    match rejection.reason {
        RejectionReason::MissingKey(_) => counters.missing_key.inc(),
        RejectionReason::AmbiguousKey(_) | RejectionReason::KeyTooLong(_) => counters.key_ambiguous.inc(),
    };
}

/// An instant with the date it is told by.
fn moment(instant: Instant) -> Moment {
    Moment { instant, date: clock::date() }
}
