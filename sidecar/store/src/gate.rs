//! What the worker of a Redis store publishes for callers, readable in nanoseconds.

use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::ArcSwap;

use crate::breaker::BreakerState;
use crate::key::InstallKey;
use crate::reason::Reason;

/// How a store stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreStatus {
    /// It answers.
    Connected,
    /// It was not reached yet, and no attempt has failed.
    Connecting,
    /// It does not answer, or not as it should; the reason is never [`Reason::BreakerOpen`] but what opened it.
    Failing(Reason),
}

/// Shared by the worker, which writes, and the callers.
#[derive(Debug)]
pub(crate) struct Gate {
    breaker: AtomicU8,
    /// 0: connecting, 1: connected, else 2 + the reason's place in [`Reason::ALL`].
    status: AtomicU8,
    install_key: ArcSwap<InstallKey>,
}

impl StoreStatus {
    /// `connected`, `connecting`, or the reason's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Failing(reason) => reason.as_str(),
        }
    }
}

impl Gate {
    pub(crate) fn new(install_key: InstallKey) -> Self {
        Self { breaker: AtomicU8::new(0), status: AtomicU8::new(0), install_key: ArcSwap::from_pointee(install_key) }
    }

    /// Why a decision must not even be tried now.
    pub(crate) fn shut(&self) -> Option<Reason> {
        if self.breaker.load(Ordering::Relaxed) != 0 {
            return Some(Reason::BreakerOpen);
        }
        (self.status() == StoreStatus::Failing(Reason::NotConfigured)).then_some(Reason::NotConfigured)
    }

    pub(crate) fn breaker(&self) -> BreakerState {
        match self.breaker.load(Ordering::Relaxed) {
            0 => BreakerState::Closed,
            1 => BreakerState::Open,
            _ => BreakerState::HalfOpen,
        }
    }

    pub(crate) fn set_breaker(&self, state: BreakerState) {
        let code = match state {
            BreakerState::Closed => 0,
            BreakerState::Open => 1,
            BreakerState::HalfOpen => 2,
        };
        self.breaker.store(code, Ordering::Relaxed);
    }

    pub(crate) fn status(&self) -> StoreStatus {
        match self.status.load(Ordering::Relaxed) {
            0 => StoreStatus::Connecting,
            1 => StoreStatus::Connected,
            code => Reason::ALL
                .get(usize::from(code) - 2)
                .map_or(StoreStatus::Connecting, |reason| StoreStatus::Failing(*reason)),
        }
    }

    /// Tells whether it is another one than before.
    pub(crate) fn set_status(&self, status: StoreStatus) -> bool {
        let code = match status {
            StoreStatus::Connecting => 0,
            StoreStatus::Connected => 1,
            StoreStatus::Failing(reason) => {
                Reason::ALL.iter().position(|each| *each == reason).map_or(0, |place| place as u8 + 2)
            }
        };
        self.status.swap(code, Ordering::Relaxed) != code
    }

    pub(crate) fn install_key(&self) -> InstallKey {
        **self.install_key.load()
    }

    pub(crate) fn set_install_key(&self, key: InstallKey) {
        self.install_key.store(std::sync::Arc::new(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_is_read_as_it_was_written() {
        let gate = Gate::new(InstallKey::ZEROS);
        assert_eq!(gate.status(), StoreStatus::Connecting);
        let failing = Reason::ALL.map(StoreStatus::Failing);
        for status in [StoreStatus::Connected, StoreStatus::Connecting].into_iter().chain(failing) {
            gate.set_status(status);
            assert_eq!(gate.status(), status);
            assert!(!gate.set_status(status));
        }
    }

    #[test]
    fn it_is_shut_while_the_breaker_is_open_or_nothing_is_configured() {
        let gate = Gate::new(InstallKey::ZEROS);
        assert_eq!(gate.shut(), None);
        for state in [BreakerState::Open, BreakerState::HalfOpen] {
            gate.set_breaker(state);
            assert_eq!((gate.breaker(), gate.shut()), (state, Some(Reason::BreakerOpen)));
        }
        gate.set_breaker(BreakerState::Closed);
        gate.set_status(StoreStatus::Failing(Reason::NotConfigured));
        assert_eq!(gate.shut(), Some(Reason::NotConfigured));
        gate.set_status(StoreStatus::Failing(Reason::Oom));
        assert_eq!(gate.shut(), None);
    }
}
