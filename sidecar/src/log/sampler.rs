//! A bound on log lines of one kind, so that a flood of refusals costs counting and not writing.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Lets some lines a second through and counts the others.
#[derive(Debug)]
pub struct Sampler {
    start: Instant,
    per_second: u32,
    /// The running second in the upper half, the lines asked for in it in the lower.
    state: AtomicU64,
}

/// A line that may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// How many of the last second that had any were not written, told once.
    pub left_out: u64,
}

impl Sampler {
    /// Lets `per_second` lines through in each second, counted from `now`.
    #[must_use]
    pub fn new(per_second: u32, now: Instant) -> Self {
        Self { start: now, per_second, state: AtomicU64::new(0) }
    }

    /// Asks for a line; `None` when this second has had its lines.
    pub fn ask(&self, now: Instant) -> Option<Sample> {
        let second = now.saturating_duration_since(self.start).as_secs() & u64::from(u32::MAX);
        let before = self.state.load(Relaxed);
        let fresh = second << 32 | 1;
        if before >> 32 < second && self.state.compare_exchange(before, fresh, Relaxed, Relaxed).is_ok() {
            let asked = before & u64::from(u32::MAX);
            return Some(Sample { left_out: asked.saturating_sub(u64::from(self.per_second)) });
        }
        let asked = (self.state.fetch_add(1, Relaxed) & u64::from(u32::MAX)) + 1;
        (asked <= u64::from(self.per_second)).then_some(Sample { left_out: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_second_has_its_lines_and_the_next_one_tells_how_many_were_left_out() {
        let start = crate::clock::now();
        let sampler = Sampler::new(2, start);
        let lines: Vec<_> = (0..5).map(|_| sampler.ask(start)).collect();
        let told = Some(Sample { left_out: 0 });
        assert_eq!(lines, [told, told, None, None, None]);
        assert_eq!(sampler.ask(start + Duration::from_secs(1)), Some(Sample { left_out: 3 }));
        assert_eq!(sampler.ask(start + Duration::from_secs(1)), told);
    }
}
