//! An instant. Not a clock: nothing in this package reads one.

use std::time::Duration;

/// Microseconds since the Unix epoch, as Redis's `TIME` tells them.
///
/// Lua keeps instants in doubles, which are exact below 2^53; see [`Timestamp::from_micros`] for the bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

/// The last instant that may be given: ten years of debt and two periods more still stay below 2^53.
const LAST: u64 = 1 << 52;

// === impl Timestamp ===

impl Timestamp {
    /// The instant `micros` microseconds after the Unix epoch; later than 2^52 µs (the year 2112) is taken as that.
    pub const fn from_micros(micros: u64) -> Self {
        if micros > LAST { Self(LAST) } else { Self(micros) }
    }

    /// Microseconds since the Unix epoch.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// How long from `self` to `later`; zero when `later` is not later.
    pub const fn until(self, later: Self) -> Duration {
        Duration::from_micros(later.0.saturating_sub(self.0))
    }

    /// An instant that this package derived from one that was given, so past the last one by little at most.
    pub(crate) const fn derived(micros: u64) -> Self {
        Self(micros)
    }
}
