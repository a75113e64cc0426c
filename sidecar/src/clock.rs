//! The one place of this package that reads a clock. Everything else takes an instant as an argument.
use std::time::Instant;

/// The monotonic clock, for durations and deadlines. When requests pass is decided by the store's own clock, never by this.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}
