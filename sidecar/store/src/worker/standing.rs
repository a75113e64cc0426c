//! What the worker thinks of the store, and who hears of it: breaker, published status, log.

use std::hash::BuildHasher as _;
use std::time::Duration;

use super::Worker;
use crate::breaker::BreakerState;
use crate::clock;
use crate::gate::StoreStatus;
use crate::reason::StoreError;

/// A reason is logged once in this time, however often it comes and goes.
const QUIET: Duration = Duration::from_secs(30);

impl Worker {
    pub(super) fn fail(&mut self, error: &StoreError) {
        self.set_failing(error);
        self.breaker.failed(clock::monotonic(), self.chance());
        self.publish_breaker();
        if self.breaker.state() == BreakerState::Open {
            self.refuse_waiting(error);
        }
    }

    pub(super) fn breaker_open_at_once(&mut self) {
        if self.breaker.probe_at().is_none() {
            self.breaker.open(clock::monotonic(), self.chance());
            self.publish_breaker();
        }
    }

    pub(super) fn set_failing(&mut self, error: &StoreError) {
        self.gate.set_status(StoreStatus::Failing(error.kind()));
        let now = clock::monotonic();
        let logged = self.logged.get(&error.kind()).is_some_and(|at| now.saturating_duration_since(*at) < QUIET);
        if !logged {
            tracing::warn!(reason = error.reason(), "{error}");
            self.logged.insert(error.kind(), now);
            self.failure_logged = true;
        }
    }

    pub(super) fn set_connected(&mut self) {
        if self.gate.set_status(StoreStatus::Connected) && std::mem::take(&mut self.failure_logged) {
            tracing::info!("the store answers");
        }
    }

    pub(super) fn publish_breaker(&self) {
        let state = self.breaker.state();
        if self.gate.breaker() != state {
            self.gate.set_breaker(state);
            self.observer.breaker(state);
        }
    }

    /// A random number in 0..1: jitter needs no better one.
    fn chance(&self) -> f64 {
        let now = clock::monotonic();
        (self.chance.hash_one(now) >> 11) as f64 / (1_u64 << 53) as f64
    }
}
