//! The only place of this package that reads a clock; everything else takes the time as an argument.

use std::time::Instant;

/// The time of day.
#[must_use]
pub fn now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

/// A point in time to measure from; it never goes back.
#[must_use]
pub fn instant() -> Instant {
    Instant::now()
}
