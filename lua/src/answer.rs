//! From the numbers that states come down to, to the answer: what remains, when, how long to wait, and the receipts. The
//! model and the script's reply both come this way.

use std::time::Duration;

use crate::decision::{Decision, Outcome, Verdict};
use crate::limit::{Algorithm, Limit};
use crate::receipt::Receipt;
use crate::{bucket, fixed_window, sliding_log, sliding_window};

/// One check of a request.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'l> {
    /// Names the key among those of the request.
    pub(crate) key: usize,
    pub(crate) limit: &'l Limit,
    /// Its own cost.
    pub(crate) own: u64,
    /// What it is tried at: with what the request takes from the same key before it.
    pub(crate) cost: u64,
}

/// The numbers that a state comes down to, seen from now; the script's reply holds the same. What they are is told where
/// each algorithm derives its answer from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// µs from now.
    pub(crate) ahead: u64,
    pub(crate) part: u32,
    /// Of a sliding window only.
    pub(crate) previous: u32,
    /// Of a sliding log only: µs from now, until what was refused has room; when admitted, until more is left.
    pub(crate) wait: u64,
    /// Of a bucket only: µs.
    pub(crate) given_back: u64,
    pub(crate) generation: u8,
}

// === impl Seen ===

impl Seen {
    /// What was seen `charges` charges of `check` earlier, at the same instant, of a key that no other check charged since;
    /// none when so many can't have been.
    pub(crate) fn before(&self, check: Asked<'_>, charges: u16) -> Option<Self> {
        let units = check.cost.checked_mul(u64::from(charges))?;
        let limit = check.limit;
        match limit.algorithm() {
            Algorithm::FixedWindow | Algorithm::SlidingWindow | Algorithm::SlidingLog => {
                // where there was nothing before, the oldest unit of a log is one of these: all are as old
                Some(Self { part: u64::from(self.part).checked_sub(units)? as u32, ..*self })
            }
            Algorithm::TokenBucket | Algorithm::LeakyBucket => {
                let (taken, after) = (limit.time_of(units), bucket::ahead(self));
                let ahead = (taken <= after).then(|| after.minus(taken, limit.requests()))?;
                Some(Self { ahead: ahead.whole, part: ahead.numerator, ..*self })
            }
        }
    }
}

/// What a check is tried at: its own cost and what the same request takes from the same key before it. A read stays one.
pub(crate) fn sum_of_costs(cost: u64, before: impl Iterator<Item = u64>) -> u64 {
    if cost == 0 { 0 } else { before.fold(cost, u64::saturating_add) }
}

/// The decision about a request of `asked` at `now`; `seen` is what its keys hold after it, of each check.
pub(crate) fn decision<'l>(now: u64, admitted: bool, seen: &[Seen], asked: impl Fn(usize) -> Asked<'l>) -> Decision {
    let outcome = |(i, one): (usize, &Seen)| {
        let check = asked(i);
        let outcome = derive(check.limit, check.cost, admitted, one);
        if !admitted || check.own == 0 {
            return outcome;
        }
        // what the key holds is as the last check that charged it left it
        let later = (i + 1..seen.len()).rev().find(|j| asked(*j).key == check.key && asked(*j).own > 0);
        charged(now, outcome, check, later.map_or((check, one), |last| (asked(last), &seen[last])))
    };
    Decision { admitted, outcomes: seen.iter().enumerate().map(outcome).collect() }
}

/// The outcome with what only an admitted check with a cost has.
fn charged(now: u64, outcome: Outcome, check: Asked<'_>, (last, seen): (Asked<'_>, &Seen)) -> Outcome {
    if last.limit.algorithm() != check.limit.algorithm() {
        // another algorithm's state has taken the place of what was charged
        return outcome;
    }
    let receipt = Receipt::new(now, last.limit, seen, [check.cost - check.own, check.own, last.cost - check.cost]);
    let delay = match check.limit.max_wait_micros() {
        // the request as a whole departs when all that was charged before it has run out
        Some(_) => bucket::ahead(seen).minus(last.limit.time_of(last.cost), last.limit.requests()).rounded_up(),
        None => 0,
    };
    Outcome { delay: Duration::from_micros(delay), receipt: Some(receipt), ..outcome }
}

/// The answer to one check.
fn derive(limit: &Limit, cost: u64, admitted: bool, seen: &Seen) -> Outcome {
    if limit.requests() == 0 {
        return outcome(Verdict::Never, 0, 0);
    }
    let told = match limit.algorithm() {
        Algorithm::FixedWindow => fixed_window::outcome(limit, cost, admitted, seen),
        Algorithm::SlidingLog => sliding_log::outcome(limit, cost, admitted, seen),
        Algorithm::SlidingWindow => sliding_window::outcome(limit, cost, admitted, seen),
        Algorithm::TokenBucket | Algorithm::LeakyBucket => bucket::outcome(limit, cost, admitted, seen),
    };
    if !admitted || told.remaining == limit.capacity() {
        return told;
    }
    let one_more = told.remaining + 1;
    let more = match limit.algorithm() {
        Algorithm::FixedWindow => seen.ahead,
        Algorithm::SlidingLog => seen.wait,
        Algorithm::SlidingWindow => sliding_window::wait(limit, one_more, seen),
        Algorithm::TokenBucket | Algorithm::LeakyBucket => bucket::wait(limit, one_more, seen),
    };
    Outcome { more: Some(Duration::from_micros(more)), ..told }
}

/// An answer without a charge; `reset` in µs.
pub(crate) fn outcome(verdict: Verdict, remaining: u64, reset: u64) -> Outcome {
    let (reset, delay) = (Duration::from_micros(reset), Duration::ZERO);
    Outcome { verdict, remaining, reset, more: None, delay, receipt: None }
}
