//! What was charged to one key by one check, so that just that can be given back. What giving back means is told where
//! each algorithm does it.

use crate::answer::Seen;
use crate::bucket::Taken;
use crate::exact::Exact;
use crate::limit::{Algorithm, Limit};
use crate::time::Timestamp;

/// What one admitted check took from its key.
///
/// To be given back once: it can be neither copied nor cloned, and giving back consumes it.
///
/// ```compile_fail
/// fn twice(receipt: weir_limiter::Receipt) -> [weir_limiter::Receipt; 2] {
///     [receipt, receipt]
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Of the state that was charged: see [`next_generation`].
    pub(crate) generation: u8,
    pub(crate) charge: Charge,
}

/// What a receipt names, by the kind of the state. Instants are µs since the Unix epoch.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Charge {
    FixedWindow {
        /// Of the window.
        end: u64,
        period: u64,
        units: u32,
    },
    SlidingWindow {
        /// Of the window.
        end: u64,
        period: u64,
        units: u32,
        /// Nothing weighed before: the key's windows begin with this charge.
        began: bool,
    },
    SlidingLog {
        /// Of each unit.
        instant: u64,
        period: u64,
        units: u32,
    },
    TokenBucket(Taken),
    LeakyBucket(Taken),
}

/// The generation that follows. A state's changes whenever it is cut or carried over into other windows (an edit, or a
/// clock that stepped back far): what was charged before can't be told apart in it any more, so receipts from before give
/// nothing back. Six bits, which each state has to spare.
pub(crate) fn next_generation(generation: u8) -> u8 {
    (generation + 1) % 64
}

// === impl Receipt ===

impl Receipt {
    /// The receipt for `own` units under `limit` (N > 0), when `seen` is the state after the request, of which so many
    /// units were charged to it after (`later`) and before (`earlier`) these.
    pub(crate) fn new(now: u64, limit: &Limit, seen: &Seen, [earlier, own, later]: [u64; 3]) -> Self {
        let (period, requests, after) = (limit.period(), limit.requests(), now + seen.ahead);
        // what was admitted is at most the capacity
        let units = own as u32;
        let charge = match limit.algorithm() {
            Algorithm::FixedWindow => Charge::FixedWindow { end: after, period, units },
            Algorithm::SlidingWindow => {
                let began = seen.previous == 0 && u64::from(seen.part) == earlier + own + later && earlier == 0;
                Charge::SlidingWindow { end: after, period, units, began }
            }
            Algorithm::SlidingLog => Charge::SlidingLog { instant: after.saturating_sub(period), period, units },
            algorithm @ (Algorithm::TokenBucket | Algorithm::LeakyBucket) => {
                let taken = Taken {
                    base: Exact { whole: after, numerator: seen.part }.minus(limit.time_of(own + later), requests),
                    taken: limit.time_of(own),
                    requests,
                    given_back: seen.given_back,
                    queued: limit.max_wait_micros().is_some(),
                };
                if algorithm == Algorithm::TokenBucket {
                    Charge::TokenBucket(taken)
                } else {
                    Charge::LeakyBucket(taken)
                }
            }
        };
        Self { generation: seen.generation, charge }
    }

    /// Of a queue: when what was charged departs, by the store's clock, in whole microseconds rounded up. None for any other
    /// limit, where nothing waits.
    pub fn departs(&self) -> Option<Timestamp> {
        match &self.charge {
            Charge::LeakyBucket(taken) if taken.queued => Some(Timestamp::derived(taken.base.rounded_up())),
            _ => None,
        }
    }
}
