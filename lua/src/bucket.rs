//! The token bucket and the leaky bucket, by their theoretical arrival time: the instant at which the bucket is full of
//! tokens again, or has run dry. Model of `bucket.lua`. (ITU-T I.371 calls the rule the generic cell rate algorithm.)
//!
//! Both are the same rule told from two sides: what the one has left to take, the other has left to fill.
//!
//! A request of cost c passes when max(arrival, now) + c·P/N is at most B·P/N after now. Arrival is whole microseconds
//! and a numerator over N, so that every rate is exact.
//!
//! A queue is a leaky bucket whose requests wait until what came before them has run out: one departs at max(arrival, now)
//! as it was before its own charge, and is refused when that is more than the longest wait away.

use std::time::Duration;

use crate::answer::{self, Seen};
use crate::decision::{Outcome, Verdict};
use crate::exact::Exact;
use crate::limit::Limit;
use crate::receipt::next_generation;

/// What a bucket's key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// When it is full again: microseconds since the Unix epoch.
    pub(crate) arrival: Exact,
    /// N, of which the numerator is so many.
    pub(crate) requests: u32,
    pub(crate) generation: u8,
    /// Microseconds that refunds have taken off, of charges that others came after: for those the bucket was empty so much
    /// earlier than their receipts say.
    pub(crate) given_back: u64,
}

/// The bucket as it stands under `limit` (N > 0) at `now`, and whether that is a repair: a debt that no sequence of
/// charges makes (the limit was edited or the clock stepped back) is cut to an empty bucket's, and that must be
/// written down even by a refusal, for else it would stay empty until the old debt has passed.
pub(crate) fn view(held: Option<Bucket>, limit: &Limit, now: u64) -> (Bucket, bool) {
    let requests = limit.requests();
    let full = Exact { whole: now, numerator: 0 };
    let Some(held) = held else {
        return (Bucket { arrival: full, requests, generation: 0, given_back: 0 }, false);
    };
    let Bucket { mut arrival, mut generation, mut given_back, .. } = held;
    if held.requests != requests {
        // another N: the debt stays the same time, rounded up to a whole microsecond
        arrival = Exact { whole: arrival.rounded_up(), numerator: 0 };
        (generation, given_back) = (next_generation(generation), 0);
    }
    let empty = full.plus(limit.tolerance(), requests);
    if arrival > empty {
        let generation = next_generation(generation);
        return (Bucket { arrival: empty, requests, generation, given_back: 0 }, true);
    }
    if arrival.whole + given_back < now {
        // nothing is left of any charge that this could matter to
        given_back = 0;
    }
    (Bucket { arrival: arrival.max(full), requests, generation, given_back }, false)
}

/// The bucket with `cost` taken, when it holds that and, of a queue, the wait is not too long.
pub(crate) fn charge(bucket: Bucket, limit: &Limit, cost: u64, now: u64) -> Option<Bucket> {
    let requests = limit.requests();
    if limit.max_wait_micros().is_some_and(|most| bucket.arrival > Exact { whole: now + most, numerator: 0 }) {
        return None;
    }
    let arrival = bucket.arrival.plus(limit.time_of(cost), requests);
    let empty = Exact { whole: now, numerator: 0 }.plus(limit.tolerance(), requests);
    (arrival <= empty).then_some(Bucket { arrival, ..bucket })
}

/// What a bucket's receipt tells of the charge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The arrival just before, or the instant of the charge if that is later. Whole µs and a numerator over N.
    pub(crate) base: Exact,
    /// c·P/N.
    pub(crate) taken: Exact,
    /// N.
    pub(crate) requests: u32,
    /// What the bucket had given back before.
    pub(crate) given_back: u64,
    /// It was under a queue.
    pub(crate) queued: bool,
}

/// Gives back what was taken, as far as it has not refilled; tells whether anything was. What was taken is a stretch of time
/// that begins at `base`, or earlier by what was given back of charges before it: what of that is later than now.
/// Without the charge the bucket would be at most so much emptier: more, where others took what had refilled.
///
/// From a queue only what was charged last: those behind it have been told when they depart.
pub(crate) fn refund(bucket: &mut Bucket, taken: &Taken, now: u64) -> bool {
    let (requests, now) = (bucket.requests, Exact { whole: now, numerator: 0 });
    let Some(since) = bucket.given_back.checked_sub(taken.given_back) else { return false };
    // after another refund an arrival that is the same by chance is of a later charge
    let is_last = since == 0 && bucket.arrival == taken.base.plus(taken.taken, requests);
    if taken.requests != requests || bucket.arrival <= now || (taken.queued && !is_last) {
        return false;
    }
    let base = Exact { whole: taken.base.whole.saturating_sub(since), ..taken.base };
    let given = taken.taken.minus(now.minus(base, requests), requests);
    if given == Exact::default() {
        return false;
    }
    bucket.arrival = bucket.arrival.minus(given, requests);
    if !is_last {
        bucket.given_back += given.rounded_up();
    }
    if bucket.given_back >= MOST_GIVEN_BACK {
        (bucket.generation, bucket.given_back) = (next_generation(bucket.generation), 0);
    }
    true
}

/// More is not kept, for sums to stay below 2^53: the receipts until then are worth nothing any more.
const MOST_GIVEN_BACK: u64 = 1 << 50;

/// How far ahead of now the arrival is.
pub(crate) fn ahead(seen: &Seen) -> Exact {
    Exact { whole: seen.ahead, numerator: seen.part }
}

/// The answer, when the bucket (N > 0) is full again in `seen.ahead` microseconds and `seen.part` Nths of one.
pub(crate) fn outcome(limit: &Limit, cost: u64, admitted: bool, seen: &Seen) -> Outcome {
    // at most the capacity, so it fits
    let remaining = if too_long(limit, seen) > 0 { 0 } else { (left(limit, seen) / u128::from(limit.period())) as u64 };
    let verdict = if admitted || cost <= remaining {
        Verdict::Pass
    } else if !limit.can_ever_pass(cost) {
        Verdict::Never
    } else {
        Verdict::Wait(Duration::from_micros(wait(limit, cost, seen)))
    };
    answer::outcome(verdict, remaining, ahead(seen).rounded_up())
}

/// How long a cost that can pass and does not pass now has to wait.
pub(crate) fn wait(limit: &Limit, cost: u64, seen: &Seen) -> u64 {
    let short = (u128::from(cost) * u128::from(limit.period())).saturating_sub(left(limit, seen));
    // below B·P/N, ten years at most
    let room = short.div_ceil(u128::from(limit.requests())) as u64;
    room.max(too_long(limit, seen))
}

/// What is left, in units of 1/N microseconds: one request is P of them.
fn left(limit: &Limit, seen: &Seen) -> u128 {
    let most = u128::from(limit.capacity()) * u128::from(limit.period());
    most.saturating_sub(ahead(seen).in_nths(limit.requests()))
}

/// Of a queue: how much too long a request would have to wait now, in microseconds.
fn too_long(limit: &Limit, seen: &Seen) -> u64 {
    limit.max_wait_micros().map_or(0, |most| ahead(seen).rounded_up().saturating_sub(most))
}

/// When the bucket is full again, and so the same as none; after refunds, when it would be without them, for until then
/// receipts may matter.
pub(crate) fn expires(bucket: Bucket) -> u64 {
    bucket.arrival.rounded_up() + bucket.given_back
}
