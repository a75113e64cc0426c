//! The decision in Rust: what `decide.lua` does for one request, over states that the caller holds. A store in memory
//! runs on it; for Redis it is what the script is tested against.

use std::time::Duration;

use crate::decision::{Decision, Outcome, Verdict};
use crate::exact::Exact;
use crate::fixed_window::{self, Window};
use crate::limit::{Algorithm, Limit};
use crate::time::Timestamp;
use crate::token_bucket::{self, Bucket};

/// What one key holds. A state of another algorithm than the limit's is taken as none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Of a fixed window.
    FixedWindow(Window),
    /// Of a token bucket.
    TokenBucket(Bucket),
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
    let trial = Trial::of(*state, limit, cost, now);
    let admitted = trial.charged.is_some();
    if cost > 0
        && let Some(next) = trial.charged.or(trial.repaired())
    {
        *state = Some(next);
    }
    let shown = trial.charged.unwrap_or(trial.stands);
    Decision { admitted, outcomes: vec![outcome(limit, cost, admitted, shown, now)] }
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
            Trial::of(states[slot(i)], limit, sum_of_costs(*cost, same_key), now)
        })
        .collect();
    let admitted = trials.iter().all(|trial| trial.charged.is_some());
    for (i, trial) in trials.iter().enumerate().filter(|(i, _)| checks[*i].1 > 0) {
        if let Some(next) = if admitted { trial.charged } else { trial.repaired() } {
            states[slot(i)] = Some(next);
        }
    }
    let outcomes = trials.iter().enumerate().map(|(i, trial)| {
        let (limit, _) = &checks[i];
        // when admitted, another check may have charged the same key after this one
        let shown = if admitted { Trial::of(states[slot(i)], limit, 0, now).stands } else { trial.stands };
        outcome(limit, trial.cost, admitted, shown, now)
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
    stands: State,
    /// Whether `stands` must be written even when nothing is charged.
    repair: bool,
    /// As it is when charged; none when the check is refused.
    charged: Option<State>,
}

// === impl Trial ===

impl Trial {
    fn of(held: Option<State>, limit: &Limit, cost: u64, now: u64) -> Self {
        let never = limit.requests() == 0;
        match limit.algorithm() {
            // N = 0 has no rate: nothing is read, nothing written
            _ if never => {
                let stands = State::FixedWindow(Window { end: now, count: 0, period: limit.period() });
                Self { cost, stands, repair: false, charged: None }
            }
            Algorithm::FixedWindow => {
                let held = match held {
                    Some(State::FixedWindow(window)) => Some(window),
                    _ => None,
                };
                let (window, repair) = fixed_window::view(held, limit, now);
                let stands = State::FixedWindow(window);
                let charged = match cost {
                    0 => Some(stands),
                    _ => fixed_window::charge(window, limit, cost).map(State::FixedWindow),
                };
                Self { cost, stands, repair, charged }
            }
            Algorithm::TokenBucket => {
                let held = match held {
                    Some(State::TokenBucket(bucket)) => Some(bucket),
                    _ => None,
                };
                let (bucket, repair) = token_bucket::view(held, limit, now);
                let charged = token_bucket::charge(bucket, limit, cost, now).map(State::TokenBucket);
                Self { cost, stands: State::TokenBucket(bucket), repair, charged }
            }
        }
    }

    fn repaired(&self) -> Option<State> {
        self.repair.then_some(self.stands)
    }
}

fn outcome(limit: &Limit, cost: u64, admitted: bool, state: State, now: u64) -> Outcome {
    match state {
        State::FixedWindow(window) => derive(limit, cost, admitted, window.end.saturating_sub(now), window.count),
        State::TokenBucket(bucket) => {
            let ahead = bucket.arrival.whole.saturating_sub(now);
            derive(limit, cost, admitted, ahead, bucket.arrival.numerator)
        }
    }
}

/// The answer to one check from the two numbers that a state comes down to, seen from now: a window's end and count, or
/// a bucket's arrival and numerator. The script's reply holds the same two.
pub(crate) fn derive(limit: &Limit, cost: u64, admitted: bool, ahead: u64, part: u32) -> Outcome {
    if limit.requests() == 0 {
        return Outcome { verdict: Verdict::Never, remaining: 0, reset: Duration::ZERO };
    }
    match limit.algorithm() {
        Algorithm::FixedWindow => fixed_window::outcome(limit, cost, admitted, ahead, part),
        Algorithm::TokenBucket => token_bucket::outcome(limit, cost, admitted, Exact { whole: ahead, numerator: part }),
    }
}

// === impl State ===

impl State {
    /// When it stops mattering under `limit`: from then on it is the same as no state.
    pub fn expires(&self, limit: &Limit) -> Timestamp {
        Timestamp::derived(match self {
            Self::FixedWindow(window) => fixed_window::expires(*window, limit),
            Self::TokenBucket(bucket) => token_bucket::expires(*bucket),
        })
    }
}
