//! The one place of this package that reads a clock. Everything else takes an instant as an argument.
use std::time::{Instant, SystemTime};

/// The monotonic clock, for durations and deadlines. When requests pass is decided by the store's own clock, never by this.
#[must_use]
pub fn now() -> Instant {
    Instant::now()
}

/// The clock of the day, by which hyper tells Date: for what clients are told as a date, and for nothing else.
#[must_use]
pub fn date() -> SystemTime {
    SystemTime::now()
}
