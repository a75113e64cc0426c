//! The decision in Rust: what `decide.lua` does for one request, over states that the caller holds. A store in memory
//! runs on it; for Redis it is what the script is tested against.

use crate::answer::{self, Asked, Seen, sum_of_costs};
use crate::bucket::{self, Bucket};
use crate::decision::Decision;
use crate::fixed_window::{self, Window};
use crate::limit::Limit;
use crate::receipt::{Charge, Receipt};
use crate::sliding_log::{self, Log};
use crate::sliding_window::{self, Sliding};
use crate::time::Timestamp;
use crate::trial::Trial;

/// What one key holds. A state of another algorithm than the limit's is taken as none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Of a fixed window.
    FixedWindow(Window),
    /// Of a sliding log.
    SlidingLog(Log),
    /// Of a sliding window.
    SlidingWindow(Sliding),
    /// Of a token bucket.
    TokenBucket(Bucket),
    /// Of a leaky bucket.
    LeakyBucket(Bucket),
}

/// Decides one request at `now`: all `checks` (limit, cost) pass and are charged, or none is. `states[i]` is what the
/// key of `checks[i]` holds; a state is changed by a charge, or when an edit or a clock that stepped back left it with
/// more than can be. Cost 0 only reads: it always passes (but for N = 0) and never changes a state.
///
/// # Panics
/// When there are fewer states than checks.
pub fn decide(now: Timestamp, checks: &[(Limit, u64)], states: &mut [Option<State>]) -> Decision {
    if let [(limit, cost)] = checks {
        return decide_one(now.as_micros(), limit, *cost, &mut states[0]);
    }
    decide_group(now.as_micros(), checks, |check| check, states)
}

/// [`decide`] for checks of which several may be on one key: `slots[i]` is the place in `states` of what the key of
/// `checks[i]` holds. Costs on one key add up.
///
/// # Panics
/// When there are fewer slots than checks, or a slot is past the end of `states`.
pub fn decide_shared(
    now: Timestamp,
    checks: &[(Limit, u64)],
    slots: &[usize],
    states: &mut [Option<State>],
) -> Decision {
    decide_group(now.as_micros(), checks, |check| slots[check], states)
}

/// Gives back what a check took from the key that holds `state`, as far as it can be told apart from what others took: the
/// history with the refund never admits what the same history without the charge would not. Tells whether anything was
/// given back. Never makes a state.
///
/// A window gives back while the receipt's window is there, a log while its units are in the last P, a bucket what has not
/// refilled since, a queue only its last; all nothing once an edit or a clock that stepped back far has cut the state or
/// carried it over into other windows. (By a clock that goes forward: one that steps back by Δ may cost Δ·N/P here too.)
pub fn refund(now: Timestamp, receipt: Receipt, state: &mut Option<State>) -> bool {
    state.as_mut().is_some_and(|state| state.refund(now, receipt))
}

fn decide_one(now: u64, limit: &Limit, cost: u64, state: &mut Option<State>) -> Decision {
    let trial = Trial::of(state.as_ref(), limit, cost, now);
    let admitted = trial.charged.is_some();
    let seen = trial.charged.as_ref().unwrap_or(&trial.stands).seen(now);
    if cost > 0
        && let Some(next) = if admitted { trial.charged } else { trial.repair.then_some(trial.stands) }
    {
        next.put(state);
    }
    answer::decision(now, admitted, &[seen], |_| Asked { key: 0, limit, own: cost, cost })
}

fn decide_group(
    now: u64,
    checks: &[(Limit, u64)],
    slot: impl Fn(usize) -> usize,
    states: &mut [Option<State>],
) -> Decision {
    // every check is tried against what its key held before the request, at the sum of the costs so far on that key
    let asked = |i: usize| {
        let (limit, own) = &checks[i];
        let same_key = (0..i).filter(|&j| slot(j) == slot(i)).map(|j| checks[j].1);
        Asked { key: slot(i), limit, own: *own, cost: sum_of_costs(*own, same_key) }
    };
    let asked: Vec<Asked<'_>> = (0..checks.len()).map(asked).collect();
    let trial = |check: &Asked<'_>| Trial::of(states[check.key].as_ref(), check.limit, check.cost, now);
    let trials: Vec<Trial> = asked.iter().map(trial).collect();
    let admitted = trials.iter().all(|trial| trial.charged.is_some());
    let before: Vec<Seen> = trials.iter().map(|trial| trial.stands.seen(now)).collect();
    for (check, trial) in asked.iter().zip(trials).filter(|(check, _)| check.own > 0) {
        if let Some(next) = if admitted { trial.charged } else { trial.repair.then_some(trial.stands) } {
            next.put(&mut states[check.key]);
        }
    }
    // when admitted, another check may have charged the same key after this one
    let stands = |check: &Asked<'_>| Trial::of(states[check.key].as_ref(), check.limit, 0, now).stands.seen(now);
    let seen = if admitted { asked.iter().map(stands).collect() } else { before };
    answer::decision(now, admitted, &seen, |i| asked[i])
}

// === impl State ===

impl State {
    fn generation(&self) -> u8 {
        match self {
            Self::FixedWindow(window) => window.generation,
            Self::SlidingLog(log) => log.generation,
            Self::SlidingWindow(sliding) => sliding.generation,
            Self::TokenBucket(bucket) | Self::LeakyBucket(bucket) => bucket.generation,
        }
    }

    /// As the function [`refund`], to a state that is there.
    pub fn refund(&mut self, now: Timestamp, receipt: Receipt) -> bool {
        if receipt.generation != self.generation() {
            return false;
        }
        let now = now.as_micros();
        match (receipt.charge, self) {
            (Charge::FixedWindow { end, period, units }, State::FixedWindow(window)) => {
                fixed_window::refund(window, end, period, units, now)
            }
            (Charge::SlidingWindow { end, period, units, began }, State::SlidingWindow(sliding)) => {
                sliding_window::refund(sliding, end, period, units, began, now)
            }
            (Charge::SlidingLog { instant, period, units }, State::SlidingLog(log)) => {
                log.refund(instant, period, units, now)
            }
            (Charge::TokenBucket(taken), State::TokenBucket(bucket))
            | (Charge::LeakyBucket(taken), State::LeakyBucket(bucket)) => bucket::refund(bucket, &taken, now),
            _ => false,
        }
    }

    /// Bytes that it takes beside its own size: none but a log's room for instants.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::SlidingLog(log) => log.heap_bytes(),
            Self::FixedWindow(_) | Self::SlidingWindow(_) | Self::TokenBucket(_) | Self::LeakyBucket(_) => 0,
        }
    }

    /// When it stops mattering under `limit`: from then on it is the same as no state.
    pub fn expires(&self, limit: &Limit) -> Timestamp {
        Timestamp::derived(match self {
            Self::FixedWindow(window) => fixed_window::expires(*window, limit),
            Self::SlidingLog(log) => sliding_log::expires(log, limit),
            Self::SlidingWindow(sliding) => sliding_window::expires(*sliding),
            Self::TokenBucket(bucket) | Self::LeakyBucket(bucket) => bucket::expires(*bucket),
        })
    }
}
