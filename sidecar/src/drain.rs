//! The way out of a sidecar: serving, then draining (the pod is going away, the application still answers), then stopping
//! (no new connection, what is in flight ends). It only says how far that is; who serves connections acts on it.
pub mod tell;

use crate::clock;
use std::time::Instant;
use tokio::sync::watch;

/// How far the way out has gone. It only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Business as usual.
    Serving,
    /// Responses carry `Connection: close` (HTTP/2: GOAWAY); new connections are still taken.
    Draining,
    /// No new connections; requests in flight end, stragglers get 503.
    Stopping,
}

/// Moves the phase on; whoever holds a [`Drain`] sees it.
#[derive(Clone, Debug)]
pub struct DrainTrigger(watch::Sender<State>);

/// The phase as the listeners and connections see it.
#[derive(Clone, Debug)]
pub struct Drain(watch::Receiver<State>);

#[derive(Clone, Copy, Debug)]
struct State {
    phase: Phase,
    /// When it was serving no more.
    leaving_since: Option<Instant>,
}

/// A new pair, serving.
#[must_use]
pub fn drain() -> (DrainTrigger, Drain) {
    let (sender, receiver) = watch::channel(State { phase: Phase::Serving, leaving_since: None });
    (DrainTrigger(sender), Drain(receiver))
}

impl DrainTrigger {
    /// Goes on to `phase`; going back does nothing. True when this call moved it.
    pub fn advance(&self, phase: Phase) -> bool {
        self.0.send_if_modified(|current| {
            let moved = current.phase < phase;
            if moved {
                current.phase = phase;
                current.leaving_since.get_or_insert_with(clock::now);
            }
            moved
        })
    }

    /// The phase now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.borrow().phase
    }
}

impl Drain {
    /// The phase now.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.0.borrow().phase
    }

    /// Since when the phase is not serving any more.
    #[must_use]
    pub fn leaving_since(&self) -> Option<Instant> {
        self.0.borrow().leaving_since
    }

    /// Returns once the phase is `phase` or later; at once if it is already.
    pub async fn reached(&self, phase: Phase) {
        let mut receiver = self.0.clone();
        if receiver.wait_for(|current| current.phase >= phase).await.is_err() {
            // the trigger is gone, so the phase can't change any more
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_only_goes_forward() {
        let (trigger, drain) = drain();
        assert!(trigger.advance(Phase::Stopping));
        assert!(!trigger.advance(Phase::Draining));
        assert_eq!(drain.phase(), Phase::Stopping);
    }

    #[test]
    fn who_leaves_does_so_since_the_first_step() {
        let (trigger, drain) = drain();
        assert_eq!(drain.leaving_since(), None);
        trigger.advance(Phase::Draining);
        let since = drain.leaving_since();
        trigger.advance(Phase::Stopping);
        assert_eq!(drain.leaving_since(), since);
    }

    #[tokio::test]
    async fn a_later_phase_also_counts_as_reached() {
        let (trigger, drain) = drain();
        trigger.advance(Phase::Stopping);
        drain.reached(Phase::Draining).await;
    }
}
