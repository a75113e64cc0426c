//! One check tried on what its key holds: what it looks like under the limit, and what it would be when charged. Nothing is
//! changed before it is put.

use crate::answer::Seen;
use crate::bucket::{self, Bucket};
use crate::fixed_window::{self, Window};
use crate::limit::{Algorithm, Limit};
use crate::model::State;
use crate::sliding_log::{self, Log, Sight};
use crate::sliding_window::{self, Sliding};

/// One check tried on one state.
pub(crate) struct Trial {
    /// As it stands under the limit, now.
    pub(crate) stands: View,
    /// Whether `stands` must be written even when nothing is charged.
    pub(crate) repair: bool,
    /// As it is when charged; none when the check is refused.
    pub(crate) charged: Option<View>,
}

/// A state as a check sees it, not yet put in its place.
#[derive(Clone, Copy)]
pub(crate) enum View {
    /// N = 0 has no rate: nothing is read, nothing written.
    Never,
    FixedWindow(Window),
    SlidingLog(Sight),
    SlidingWindow(Sliding),
    TokenBucket(Bucket),
    LeakyBucket(Bucket),
}

// === impl Trial ===

impl Trial {
    pub(crate) fn of(held: Option<&State>, limit: &Limit, cost: u64, now: u64) -> Self {
        if limit.requests() == 0 {
            return Self { stands: View::Never, repair: false, charged: None };
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
        Self { stands, repair, charged: if cost == 0 { Some(stands) } else { charged } }
    }
}

// === impl View ===

impl View {
    pub(crate) fn seen(&self, now: u64) -> Seen {
        match self {
            Self::Never => Seen::default(),
            Self::FixedWindow(window) => Seen {
                ahead: window.end.saturating_sub(now),
                part: window.count,
                generation: window.generation,
                ..Seen::default()
            },
            Self::SlidingLog(sight) => Seen {
                ahead: sight.ahead,
                part: sight.live,
                wait: sight.wait,
                generation: sight.generation,
                ..Seen::default()
            },
            Self::SlidingWindow(sliding) => Seen {
                ahead: sliding.end.saturating_sub(now),
                part: sliding.current,
                previous: sliding.previous,
                generation: sliding.generation,
                ..Seen::default()
            },
            Self::TokenBucket(bucket) | Self::LeakyBucket(bucket) => Seen {
                ahead: bucket.arrival.whole.saturating_sub(now),
                part: bucket.arrival.numerator,
                generation: bucket.generation,
                given_back: bucket.given_back,
                ..Seen::default()
            },
        }
    }

    pub(crate) fn put(self, state: &mut Option<State>) {
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
