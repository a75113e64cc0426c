//! What follows when all limits have admitted a request: it goes on, or is held back until its turn in a queue or because a
//! limit slows down, and is given back when it does not go on after all.
use super::table::Table;
use super::told::Told;
use super::waiting::Place;
use super::{Enforcer, count_rejections, moment, numbers};
use crate::clock;
use crate::metrics::LimitCounters;
use crate::proxy::gate::{Held, LimitHeaders, Ruling, WaitEnd};
use http::request::Parts;
use std::time::{Duration, Instant};
use weir_limiter::{Check, Decision, Outcome, Receipt, Verdict};
use weir_policy::{LimitCheck, Rejection};
use weir_store::StateKey;

/// A request that all its limits admitted.
pub(super) struct Admitted<'t> {
    pub(super) table: &'t Table,
    pub(super) checks: &'t [LimitCheck<'t>],
    /// The same, as the store was asked.
    pub(super) keyed: Vec<Check<StateKey>>,
    pub(super) decision: Decision,
    pub(super) now: Instant,
}

impl Admitted<'_> {
    fn headers(&self) -> LimitHeaders {
        let reported = numbers::tightest(self.checks, &self.decision.outcomes);
        let told = reported.and_then(|(reported, standing)| Told::new(reported, standing, self.checks, self.now));
        told.map(|told| LimitHeaders::new(move |headers| told.apply(headers, moment(clock::now())))).unwrap_or_default()
    }

    /// How long each limit holds it back: until its turn in a queue, or slowed down. What costs nothing never waits.
    fn delays(&self) -> Vec<Duration> {
        let pairs = self.checks.iter().zip(&self.decision.outcomes);
        let delay = |(check, outcome): (&LimitCheck<'_>, &Outcome)| {
            let slowdown = check.limit.slowdown.filter(|_| outcome.receipt.is_some());
            let capacity = check.applied.capacity();
            slowdown.map_or(outcome.delay, |slowdown| slowdown.delay(capacity, outcome.remaining))
        };
        pairs.map(delay).collect()
    }

    /// What it was charged.
    fn charges(self) -> Vec<(StateKey, Receipt)> {
        let pairs = self.keyed.into_iter().zip(self.decision.outcomes);
        pairs.filter_map(|(check, outcome)| Some((check.key, outcome.receipt?))).collect()
    }
}

impl Enforcer {
    /// A place for a request that a queue may hold back, taken before the store is asked: a turn that was dealt out and not
    /// used would be lost to all. Where there is none, only who need not wait passes the queue.
    pub(super) fn place(
        &self,
        table: &Table,
        request: &Parts,
        checks: &[LimitCheck<'_>],
        keyed: &mut [Check<StateKey>],
    ) -> Option<Place> {
        if !keyed.iter().any(|check| check.limit.max_wait().is_some()) {
            return None;
        }
        let place = self.enter(table, request, checks);
        if place.is_none() {
            for check in keyed {
                check.limit = check.limit.waiting_at_most(Duration::ZERO);
            }
        }
        place
    }

    fn enter(&self, table: &Table, request: &Parts, checks: &[LimitCheck<'_>]) -> Option<Place> {
        let limits = checks.iter().filter_map(|check| table.entry(check.limit)?.waiting.as_ref());
        self.room.enter(request, limits.map(|places| &places.free))
    }

    /// Lets an admitted request go on, now or when its queues and slowdowns say.
    pub(super) fn admit(
        &self,
        admitted: Admitted<'_>,
        request: &Parts,
        place: Option<Place>,
        shadows: &[LimitCheck<'_>],
        rejections: &[Rejection<'_>],
    ) -> Ruling {
        let (table, checks, now) = (admitted.table, admitted.checks, admitted.now);
        let entries = || checks.iter().filter_map(|check| table.entry(check.limit));
        let delays = admitted.delays();
        let delay = delays.iter().copied().max().unwrap_or_default();
        if delay.is_zero() {
            count_rejections(table, rejections);
            self.shadows.charge(&self.store, self.shadows(table, shadows));
            for entry in entries() {
                entry.counters.admitted.inc();
            }
            return Ruling::Admit(admitted.headers());
        }
        let Some(place) = place.or_else(|| self.enter(table, request, checks)) else {
            return self.no_place(admitted, &delays);
        };
        let place = place.waits(&self.room);
        count_rejections(table, rejections);
        for (entry, _) in entries().zip(&delays).filter(|(_, delay)| !delay.is_zero()) {
            entry.counters.delayed.inc();
        }
        let counters: Vec<LimitCounters> = entries().map(|entry| entry.counters.clone()).collect();
        let (headers, shadows) = (admitted.headers(), self.shadows(table, shadows));
        let (store, metrics, shadowing) = (self.store.clone(), self.metrics.waiting.clone(), self.shadows.clone());
        let (charges, until) = (admitted.charges(), now + delay);
        Ruling::Hold(Held::new(until, headers, move |end| {
            drop(place);
            for counters in counters {
                match end {
                    WaitEnd::GoesOn => counters.admitted.inc(),
                    WaitEnd::Left => counters.left.inc(),
                    WaitEnd::TurnedAway => counters.turned_away.inc(),
                };
            }
            if end == WaitEnd::GoesOn {
                metrics.waited.observe(delay.as_secs_f64());
                metrics.late.observe(clock::now().saturating_duration_since(until).as_secs_f64());
                shadowing.charge(&store, shadows);
            } else {
                store.refund(charges);
            }
        }))
    }

    /// A slowdown holds a request back and there is no place to wait: it is refused and given back.
    fn no_place(&self, mut admitted: Admitted<'_>, delays: &[Duration]) -> Ruling {
        let (table, checks, now) = (admitted.table, admitted.checks, admitted.now);
        admitted.decision.admitted = false;
        let outcomes = admitted.decision.outcomes.iter_mut();
        for ((outcome, check), delay) in outcomes.zip(&admitted.keyed).zip(delays) {
            // as it stands once the charge is given back
            outcome.remaining = outcome.remaining.saturating_add(check.cost).min(check.limit.capacity());
            if !delay.is_zero() {
                outcome.verdict = Verdict::Wait(*delay);
            }
        }
        let ruling = self.refuse(table, checks, &admitted.keyed, &admitted.decision, now);
        self.store.refund(admitted.charges());
        ruling
    }
}
