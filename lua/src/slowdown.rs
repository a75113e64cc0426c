//! Slowing down before refusing: how long to hold an admitted request, by how much of its limit is used.

use std::time::Duration;

use thiserror::Error;

/// No delay while less than a share of the limit is used, then more and more, to the longest when all of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slowdown {
    from_percent: u8,
    /// Microseconds.
    max_delay: u64,
}

/// Why a [`Slowdown`] cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidSlowdown {
    /// Not 0 to 99.
    #[error("fromPercent must be 0 to 99, not {0}")]
    FromPercent(u8),
    /// Shorter than 1 ms, longer than 10 minutes, or not whole microseconds.
    #[error("maxDelay must be 1ms to 10m in whole microseconds, not {0:?}")]
    MaxDelay(Duration),
}

// === impl Slowdown ===

impl Slowdown {
    /// The shortest longest delay.
    pub const LEAST_MAX_DELAY: Duration = Duration::from_millis(1);
    /// The longest longest delay.
    pub const MOST_MAX_DELAY: Duration = Duration::from_secs(600);

    /// No delay up to `from_percent` (0 to 99) of the limit, then in proportion up to `max_delay` (1 ms to 10 minutes, whole
    /// microseconds) at 100 %.
    ///
    /// # Errors
    /// When either is out of its range.
    pub fn new(from_percent: u8, max_delay: Duration) -> Result<Self, InvalidSlowdown> {
        if from_percent > 99 {
            return Err(InvalidSlowdown::FromPercent(from_percent));
        }
        let whole = max_delay.subsec_nanos().is_multiple_of(1000);
        if !whole || !(Self::LEAST_MAX_DELAY..=Self::MOST_MAX_DELAY).contains(&max_delay) {
            return Err(InvalidSlowdown::MaxDelay(max_delay));
        }
        // ten minutes in microseconds are far below 2^64
        Ok(Self { from_percent, max_delay: max_delay.as_micros() as u64 })
    }

    /// How long to hold a request that was admitted by a limit of `capacity` and left `remaining` of it, in whole
    /// microseconds rounded up: with u of the capacity used, maxDelay·(u - fromPercent)/(100 % - fromPercent).
    pub fn delay(&self, capacity: u64, remaining: u64) -> Duration {
        let (capacity, from) = (u128::from(capacity), u128::from(self.from_percent));
        let used = capacity.saturating_sub(u128::from(remaining));
        // both in hundredths of the capacity
        let (over, most) = ((used * 100).saturating_sub(from * capacity), (100 - from) * capacity);
        if over == 0 {
            return Duration::ZERO;
        }
        // at most the longest delay, for no more is used than there is
        Duration::from_micros((u128::from(self.max_delay) * over).div_ceil(most) as u64)
    }
}

#[cfg(test)]
mod tests;
