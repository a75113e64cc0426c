//! The decision in Rust: what `decide.lua` does for one request, over states that the caller holds. A store in memory
//! runs on it; for Redis it is what the script is tested against.

use std::time::Duration;

use crate::bucket::{self, Bucket};
use crate::decision::{Decision, Outcome, Verdict};
use crate::exact::Exact;
use crate::fixed_window::{self, Window};
use crate::limit::{Algorithm, Limit};
use crate::sliding_log::{self, Log, Sight};
use crate::sliding_window::{self, Sliding};
use crate::time::Timestamp;

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

fn decide_one(now: u64, limit: &Limit, cost: u64, state: &mut Option<State>) -> Decision {
    let trial = Trial::of(state.as_ref(), limit, cost, now);
    let admitted = trial.charged.is_some();
    let seen = trial.charged.as_ref().unwrap_or(&trial.stands).seen(now);
    let outcome = derive(limit, cost, admitted, seen);
    if cost > 0
        && let Some(next) = if admitted { trial.charged } else { trial.repair.then_some(trial.stands) }
    {
        next.put(state);
    }
    Decision { admitted, outcomes: vec![outcome] }
}

fn decide_group(
    now: u64,
    checks: &[(Limit, u64)],
    slot: impl Fn(usize) -> usize,
    states: &mut [Option<State>],
) -> Decision {
    // every check is tried against what its key held before the request, at the sum of the costs so far on that key
    let trials: Vec<Trial> = (0..checks.len())
        .map(|i| {
            let (limit, cost) = &checks[i];
            let same_key = (0..i).filter(|&j| slot(j) == slot(i)).map(|j| checks[j].1);
            Trial::of(states[slot(i)].as_ref(), limit, sum_of_costs(*cost, same_key), now)
        })
        .collect();
    let admitted = trials.iter().all(|trial| trial.charged.is_some());
    let told: Vec<(u64, Seen)> = trials.iter().map(|trial| (trial.cost, trial.stands.seen(now))).collect();
    for (i, trial) in trials.into_iter().enumerate().filter(|(i, _)| checks[*i].1 > 0) {
        if let Some(next) = if admitted { trial.charged } else { trial.repair.then_some(trial.stands) } {
            next.put(&mut states[slot(i)]);
        }
    }
    let outcomes = told.into_iter().enumerate().map(|(i, (cost, before))| {
        let (limit, _) = &checks[i];
        // when admitted, another check may have charged the same key after this one
        let seen = if admitted { Trial::of(states[slot(i)].as_ref(), limit, 0, now).stands.seen(now) } else { before };
        derive(limit, cost, admitted, seen)
    });
    Decision { admitted, outcomes: outcomes.collect() }
}

/// What a check is tried at: its own cost and what the same request takes from the same key before it. A read stays one.
pub(crate) fn sum_of_costs(cost: u64, before: impl Iterator<Item = u64>) -> u64 {
    if cost == 0 { 0 } else { before.fold(cost, u64::saturating_add) }
}

/// One check tried on one state.
struct Trial {
    cost: u64,
    /// As it stands under the limit, now.
    stands: View,
    /// Whether `stands` must be written even when nothing is charged.
    repair: bool,
    /// As it is when charged; none when the check is refused.
    charged: Option<View>,
}

/// A state as a check sees it, not yet put in its place.
#[derive(Clone, Copy)]
enum View {
    /// N = 0 has no rate: nothing is read, nothing written.
    Never,
    FixedWindow(Window),
    SlidingLog(Sight),
    SlidingWindow(Sliding),
    TokenBucket(Bucket),
    LeakyBucket(Bucket),
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
    /// Of a sliding log only: µs from now.
    pub(crate) wait: u64,
}

// === impl Trial ===

impl Trial {
    fn of(held: Option<&State>, limit: &Limit, cost: u64, now: u64) -> Self {
        if limit.requests() == 0 {
            return Self { cost, stands: View::Never, repair: false, charged: None };
        }
        let (stands, repair, charged) = match (limit.algorithm(), held) {
            (Algorithm::FixedWindow, held) => {
                let held = if let Some(State::FixedWindow(window)) = held { Some(*window) } else { None };
                let (window, repair) = fixed_window::view(held, limit, now);
                let charged = fixed_window::charge(window, limit, cost).map(View::FixedWindow);
                (View::FixedWindow(window), repair, charged)
            }
            (Algorithm::SlidingLog, held) => {
                let held = if let Some(State::SlidingLog(log)) = held { Some(log) } else { None };
                let (sight, repair) = sliding_log::view(held, limit, now);
                let (sight, charged) = match sliding_log::charge(held, sight, limit, cost, now) {
                    Ok(charged) => (sight, Some(View::SlidingLog(charged))),
                    Err(refused) => (refused, None),
                };
                (View::SlidingLog(sight), repair, charged)
            }
            (Algorithm::SlidingWindow, held) => {
                let held = if let Some(State::SlidingWindow(sliding)) = held { Some(*sliding) } else { None };
                let (sliding, repair) = sliding_window::view(held, limit, now);
                let charged = sliding_window::charge(sliding, limit, cost, now).map(View::SlidingWindow);
                (View::SlidingWindow(sliding), repair, charged)
            }
            (Algorithm::TokenBucket, held) => {
                let held = if let Some(State::TokenBucket(bucket)) = held { Some(*bucket) } else { None };
                let (bucket, repair) = bucket::view(held, limit, now);
                let charged = bucket::charge(bucket, limit, cost, now).map(View::TokenBucket);
                (View::TokenBucket(bucket), repair, charged)
            }
            (Algorithm::LeakyBucket, held) => {
                let held = if let Some(State::LeakyBucket(bucket)) = held { Some(*bucket) } else { None };
                let (bucket, repair) = bucket::view(held, limit, now);
                let charged = bucket::charge(bucket, limit, cost, now).map(View::LeakyBucket);
                (View::LeakyBucket(bucket), repair, charged)
            }
        };
        // a read passes whatever is there
        Self { cost, stands, repair, charged: if cost == 0 { Some(stands) } else { charged } }
    }
}

// === impl View ===

impl View {
    fn seen(&self, now: u64) -> Seen {
        match self {
            Self::Never => Seen::default(),
            Self::FixedWindow(window) => {
                Seen { ahead: window.end.saturating_sub(now), part: window.count, ..Seen::default() }
            }
            Self::SlidingLog(sight) => Seen { ahead: sight.ahead, part: sight.live, previous: 0, wait: sight.wait },
            Self::SlidingWindow(sliding) => Seen {
                ahead: sliding.end.saturating_sub(now),
                part: sliding.current,
                previous: sliding.previous,
                wait: 0,
            },
            Self::TokenBucket(bucket) | Self::LeakyBucket(bucket) => {
                let ahead = bucket.arrival.whole.saturating_sub(now);
                Seen { ahead, part: bucket.arrival.numerator, ..Seen::default() }
            }
        }
    }

    fn put(self, state: &mut Option<State>) {
        *state = Some(match self {
            Self::Never => return,
            Self::FixedWindow(window) => State::FixedWindow(window),
            Self::SlidingLog(sight) => {
                let mut log = if let Some(State::SlidingLog(log)) = state.take() { log } else { Log::default() };
                log.become_as(sight);
                State::SlidingLog(log)
            }
            Self::SlidingWindow(sliding) => State::SlidingWindow(sliding),
            Self::TokenBucket(bucket) => State::TokenBucket(bucket),
            Self::LeakyBucket(bucket) => State::LeakyBucket(bucket),
        });
    }
}

/// The answer to one check.
pub(crate) fn derive(limit: &Limit, cost: u64, admitted: bool, seen: Seen) -> Outcome {
    if limit.requests() == 0 {
        return Outcome { verdict: Verdict::Never, remaining: 0, reset: Duration::ZERO };
    }
    match limit.algorithm() {
        Algorithm::FixedWindow => fixed_window::outcome(limit, cost, admitted, seen.ahead, seen.part),
        Algorithm::SlidingLog => sliding_log::outcome(limit, cost, admitted, seen.ahead, seen.part, seen.wait),
        Algorithm::SlidingWindow => {
            sliding_window::outcome(limit, cost, admitted, seen.ahead, seen.part, seen.previous)
        }
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            bucket::outcome(limit, cost, admitted, Exact { whole: seen.ahead, numerator: seen.part })
        }
    }
}

// === impl State ===

impl State {
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
