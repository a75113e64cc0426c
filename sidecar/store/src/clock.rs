//! The only reader of clocks in this package. Everything else takes time as an argument.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use weir_limiter::Timestamp;

/// The monotonic clock: waits, deadlines, the breaker.
pub(crate) fn monotonic() -> Instant {
    Instant::now()
}

/// The wall clock, in microseconds: limits of the memory store. A clock before 1970 counts as 1970.
pub(crate) fn wall() -> Timestamp {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(u64::try_from(since_epoch.as_micros()).unwrap_or(u64::MAX))
}
