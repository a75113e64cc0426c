//! Charges that are given back: what callers hand in, until it is done or given up. Nobody awaits one; whatever becomes of
//! it, the observer hears.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use weir_limiter::Receipt;

use crate::key::StateKey;
use crate::observer::{Observer, Refunds};

/// Charges that may wait to be given back; what comes beyond it is lost.
const WAITING: usize = 16_384;
/// How long a refund may wait for the store.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

/// What is still to be given back, and who hears of it.
#[derive(Clone)]
pub(crate) struct Ledger {
    observer: Arc<dyn Observer>,
    waiting: watch::Sender<usize>,
}

/// Charges to be given back together. Lost when it is dropped before it was [settled](Refund::settle).
pub(crate) struct Refund {
    charges: Vec<(StateKey, Receipt)>,
    pub(crate) deadline: Instant,
    entry: Entry,
}

/// Counts as waiting, and as lost if nothing else becomes of it.
pub(crate) struct Entry {
    ledger: Ledger,
    /// Charges.
    number: usize,
}

// === impl Ledger ===

impl Ledger {
    pub(crate) fn new(observer: Arc<dyn Observer>) -> Self {
        Self { observer, waiting: watch::Sender::new(0) }
    }

    /// Takes charges in, unless there is nothing or too much.
    pub(crate) fn enter(&self, charges: Vec<(StateKey, Receipt)>, deadline: Instant) -> Option<Refund> {
        let number = charges.len();
        let mut fits = number > 0;
        self.waiting.send_if_modified(|waiting| {
            fits &= *waiting + number <= WAITING;
            *waiting += if fits { number } else { 0 };
            false
        });
        if !fits && number > 0 {
            self.observer.refunds(Refunds { lost: number, ..Refunds::default() });
        }
        fits.then(|| Refund { charges, deadline, entry: Entry { ledger: self.clone(), number } })
    }

    /// Tells what became of charges that never waited.
    pub(crate) fn done(&self, refunds: Refunds) {
        if refunds != Refunds::default() {
            self.observer.refunds(refunds);
        }
    }

    /// When nothing waits any more, or after `bound`.
    pub(crate) async fn settled(&self, bound: Duration) {
        let mut waiting = self.waiting.subscribe();
        // the sender is here, so it is not gone; late is as good as done
        let _ = timeout(bound, waiting.wait_for(|waiting| *waiting == 0)).await;
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ledger({} waiting)", *self.waiting.borrow())
    }
}

// === impl Refund ===

impl Refund {
    /// How many charges.
    pub(crate) fn len(&self) -> usize {
        self.charges.len()
    }

    /// The charges, last first, and what is left to be settled. A request's last charge on a queue must be given back before
    /// the one before it.
    pub(crate) fn take(self) -> (impl Iterator<Item = (StateKey, Receipt)>, Entry) {
        (self.charges.into_iter().rev(), self.entry)
    }
}

// === impl Entry ===

impl Entry {
    /// Tells whether anything was given back of each charge.
    pub(crate) fn settle(mut self, given_back: impl Iterator<Item = bool>) {
        let mut refunds = Refunds::default();
        for given_back in given_back.take(self.number) {
            if given_back {
                refunds.given_back += 1;
            } else {
                refunds.nothing_left += 1;
            }
        }
        let settled = refunds.given_back + refunds.nothing_left;
        self.ledger.done(refunds);
        self.leave(settled);
    }

    fn leave(&mut self, number: usize) {
        self.number -= number;
        self.ledger.waiting.send_modify(|waiting| *waiting -= number);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.number > 0 {
            self.ledger.done(Refunds { lost: self.number, ..Refunds::default() });
            self.leave(self.number);
        }
    }
}

#[cfg(test)]
mod tests;
