//! What is asked and what is answered. Not how it is decided.

use std::time::Duration;

use crate::limit::Limit;
use crate::receipt::Receipt;

/// One limit that a request must pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check<K> {
    /// What names the state: for Redis, the key.
    pub key: K,
    /// The limit that the state is under.
    pub limit: Limit,
    /// How many units the request takes; 0 only reads.
    pub cost: u64,
}

/// The answer to one request: all of its checks passed and were charged, or none was.
///
/// Not to be cloned: it holds receipts.
#[derive(Debug, PartialEq, Eq)]
pub struct Decision {
    /// Every check passed. When false, nothing was charged.
    pub admitted: bool,
    /// One for each check, in the order asked.
    pub outcomes: Vec<Outcome>,
}

/// The answer to one check.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether this check passes; a passing check of a refused request was not charged.
    pub verdict: Verdict,
    /// Units left, 0 to the capacity: after the charge when admitted, as they stand when refused.
    pub remaining: u64,
    /// A window: until its end. A bucket: until it is full. Zero when N = 0, where waiting changes nothing.
    pub reset: Duration,
    /// Of an admitted check: until more units are left than now if nothing else happens, in whole microseconds rounded up.
    /// None when there can't be more.
    pub more: Option<Duration>,
    /// Of an admitted check of a queue: until it departs, from the store's now on, in whole microseconds rounded up. Zero
    /// for everything else, and for cost 0.
    pub delay: Duration,
    /// What was charged, by which it can be given back: of an admitted check with a cost.
    pub receipt: Option<Receipt>,
}

/// Whether a check passes, and if not, when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It passes.
    Pass,
    /// The smallest wait, in whole microseconds, at which the same cost passes if nothing else happens.
    Wait(Duration),
    /// It can never pass: the cost is more than the capacity, or N = 0.
    Never,
}
