//! The seam to metrics: what the store tells about its calls and refunds. It counts nothing itself.

use std::time::Duration;

use crate::breaker::BreakerState;
use crate::reason::Reason;

/// Hears of each call to Redis, and of refunds. Called on the store's own task: it must be quick and never block.
pub trait Observer: Send + Sync + 'static {
    /// One call ended: how many decisions it carried (0 for a heartbeat, a ping or refunds alone), how long it took, and why it
    /// failed if it did.
    fn call(&self, decisions: usize, took: Duration, failed: Option<Reason>) {
        let _ = (decisions, took, failed);
    }

    /// Something became of charges that were to be given back; of a store in memory too. May be called by whoever handed
    /// them in.
    fn refunds(&self, refunds: Refunds) {
        let _ = refunds;
    }

    /// The breaker changed.
    fn breaker(&self, state: BreakerState) {
        let _ = state;
    }
}

/// What became of so many charges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refunds {
    /// Something was given back.
    pub given_back: usize,
    /// Nothing was left to give back, or it could not be told apart from what others took.
    pub nothing_left: usize,
    /// They stay charged: the store failed, or too many waited.
    pub lost: usize,
}

/// Nobody listens.
impl Observer for () {}
