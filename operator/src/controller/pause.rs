//! How long what failed is left alone: longer each time, so that an API server that says no is not asked without end, however
//! often the namespace is looked at for other reasons. Pure.

use std::time::{Duration, Instant};

/// After the first failure, growing from one to the other.
const PAUSE: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// Something failed, and is to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    failures: u32,
    until: Instant,
}

// === impl Pause ===

impl Pause {
    /// The pause after a failure at `now`; `before` is the one that it ended.
    pub(super) fn after(before: Option<Self>, now: Instant) -> Self {
        let failures = before.map_or(0, |before| before.failures.saturating_add(1));
        let length = PAUSE.0.saturating_mul(1 << failures.min(10)).min(PAUSE.1);
        Self { failures, until: now + length }
    }

    /// How much of it is left; none when it is over.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        Some(self.until.saturating_duration_since(now)).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_is_left_alone_for_longer_up_to_a_minute() {
        let (mut now, mut pause, mut pauses) = (Instant::now(), None, Vec::new());
        for _ in 0..40 {
            let next = Pause::after(pause, now);
            let left = next.left(now).unwrap();
            pauses.push(left.as_millis());
            now += left;
            assert_eq!(next.left(now), None);
            pause = Some(next);
        }
        assert_eq!(pauses[..9], [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
        assert_eq!(pauses[39], 60_000);
    }
}
