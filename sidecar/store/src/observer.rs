//! The seam to metrics: what the store tells about its calls. It counts nothing itself.

use std::time::Duration;

use crate::breaker::BreakerState;
use crate::reason::Reason;

/// Hears of each call to Redis. Called on the store's own task: it must be quick and never block.
pub trait Observer: Send + Sync + 'static {
    /// One call ended: how many decisions it carried (0 for a heartbeat or a ping), how long it took, and why it
    /// failed if it did.
    fn call(&self, decisions: usize, took: Duration, failed: Option<Reason>) {
        let _ = (decisions, took, failed);
    }

    /// The breaker changed.
    fn breaker(&self, state: BreakerState) {
        let _ = state;
    }
}

/// Nobody listens.
impl Observer for () {}
