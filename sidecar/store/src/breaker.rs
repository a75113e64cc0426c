//! When to stop asking a store that does not answer, and when to ask again.
//!
//! A pure state machine: time and chance are arguments. It knows nothing of connections. Closed: calls go
//! out. Open: nothing goes out until the probe is due. Half-open: one probe is on its way and decides. After a
//! probe the breaker is closed on trial: the first failure opens it again, and only an answered call resets the
//! back-off, so a server that answers probes but no calls (a demoted master) is not hammered.

use std::time::{Duration, Instant};

/// Consecutive failures that open the breaker.
const FAILURES: u32 = 3;
const FIRST_WAIT: Duration = Duration::from_millis(50);
/// With the jitter (a quarter up) at most 500 ms, so that limits hold again soon after the store is back.
const LONGEST_WAIT: Duration = Duration::from_millis(400);

/// What the breaker lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go out.
    Closed,
    /// Nothing goes out; decisions fail at once.
    Open,
    /// One probe is out; decisions fail at once.
    HalfOpen,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct Breaker {
    phase: Phase,
    failures: u32,
    next_wait: Duration,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed,
    Open { probe_at: Instant },
    HalfOpen,
}

impl Breaker {
    pub(crate) fn new() -> Self {
        Self { phase: Phase::Closed, failures: 0, next_wait: FIRST_WAIT }
    }

    pub(crate) fn state(&self) -> BreakerState {
        match self.phase {
            Phase::Closed => BreakerState::Closed,
            Phase::Open { .. } => BreakerState::Open,
            Phase::HalfOpen => BreakerState::HalfOpen,
        }
    }

    /// The server answered a call.
    pub(crate) fn answered(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            self.failures = 0;
            self.next_wait = FIRST_WAIT;
        }
    }

    /// A call or a probe failed. `chance` is a random number in 0..1.
    pub(crate) fn failed(&mut self, now: Instant, chance: f64) {
        self.failures = self.failures.saturating_add(1);
        if self.failures >= FAILURES || matches!(self.phase, Phase::HalfOpen) {
            self.open(now, chance);
        }
    }

    /// Something took so long that waiting for more failures would only slow requests down.
    pub(crate) fn open(&mut self, now: Instant, chance: f64) {
        let wait = self.next_wait.mul_f64(0.75 + 0.5 * chance.clamp(0.0, 1.0));
        self.next_wait = (self.next_wait * 2).min(LONGEST_WAIT);
        self.phase = Phase::Open { probe_at: now + wait };
    }

    /// When the next probe is due; None while closed or while one is out.
    pub(crate) fn probe_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Open { probe_at } => Some(probe_at),
            Phase::Closed | Phase::HalfOpen => None,
        }
    }

    /// The probe goes out.
    pub(crate) fn probe_started(&mut self) {
        if matches!(self.phase, Phase::Open { .. }) {
            self.phase = Phase::HalfOpen;
        }
    }

    /// The probe was answered: closed, on trial if there were failures.
    pub(crate) fn probe_answered(&mut self) {
        if !matches!(self.phase, Phase::Closed) {
            self.failures = FAILURES - 1;
        }
        self.phase = Phase::Closed;
    }
}

#[cfg(test)]
mod tests;
