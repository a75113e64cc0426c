//! How many requests in how long. Not how they may be spread: that is the algorithm's, in `limit.rs`.

use std::time::Duration;

use thiserror::Error;

/// `requests` in each `period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quota {
    requests: u32,
    period: u64,
}

/// Why a [`Quota`] cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidQuota {
    /// More than 10^9 requests.
    #[error("requests must be 0 (refuses everything) to 1000000000, not {0}")]
    Requests(u64),
    /// Shorter than 1 ms, longer than 30 days, or not whole microseconds.
    #[error("period must be 1ms to 720h (30 days) in whole microseconds, not {0:?}")]
    Period(Duration),
}

// === impl Quota ===

impl Quota {
    /// The most requests a quota may have.
    pub const MAX_REQUESTS: u64 = 1_000_000_000;
    /// The shortest period.
    pub const MIN_PERIOD: Duration = Duration::from_millis(1);
    /// The longest period: 30 days.
    pub const MAX_PERIOD: Duration = Duration::from_secs(30 * 24 * 3600);

    /// `requests` (0 to 10^9; 0 refuses all) in each `period` (1 ms to 30 days, whole microseconds).
    ///
    /// # Errors
    /// When either is out of its range.
    pub fn new(requests: u64, period: Duration) -> Result<Self, InvalidQuota> {
        let whole = period.subsec_nanos().is_multiple_of(1000);
        if !whole || !(Self::MIN_PERIOD..=Self::MAX_PERIOD).contains(&period) {
            return Err(InvalidQuota::Period(period));
        }
        match u32::try_from(requests) {
            // 30 days in microseconds are far below 2^64
            Ok(n) if requests <= Self::MAX_REQUESTS => Ok(Self { requests: n, period: period.as_micros() as u64 }),
            _ => Err(InvalidQuota::Requests(requests)),
        }
    }

    /// How many requests, 0 to 10^9.
    pub fn requests(&self) -> u64 {
        u64::from(self.requests)
    }

    /// The period.
    pub fn period(&self) -> Duration {
        Duration::from_micros(self.period)
    }

    /// The period in microseconds, 1,000 to 2,592,000,000,000.
    pub(crate) fn period_micros(&self) -> u64 {
        self.period
    }
}
