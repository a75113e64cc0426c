use std::sync::Mutex;

use weir_limiter::{Check, Limit, Quota};

use super::*;
use crate::clock;
use crate::key::{InstallKey, Namespace};
use crate::memory::MemoryStore;

/// Keeps what it hears.
#[derive(Default)]
struct Heard(Mutex<Vec<Refunds>>);

impl Observer for Heard {
    fn refunds(&self, refunds: Refunds) {
        self.0.lock().unwrap().push(refunds);
    }
}

fn ledger() -> (Ledger, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    (Ledger::new(Arc::<Heard>::clone(&heard)), heard)
}

fn charges(number: usize) -> Vec<(StateKey, Receipt)> {
    let store = MemoryStore::default();
    let key = StateKey::new(&InstallKey::ZEROS, &Namespace::new("shop").unwrap(), b"a");
    let limit = Limit::fixed_window(Quota::new(1_000_000, Duration::from_secs(60)).unwrap());
    let charge = || store.decide(clock::wall(), &[Check { key, limit, cost: 1 }]).outcomes.remove(0).receipt;
    (0..number).map(|_| (key, charge().unwrap())).collect()
}

fn lost(lost: usize) -> Refunds {
    Refunds { lost, ..Refunds::default() }
}

#[tokio::test]
async fn what_is_dropped_before_it_was_settled_is_lost_and_waits_no_more() {
    let (ledger, heard) = ledger();
    let refund = ledger.enter(charges(3), clock::monotonic()).unwrap();
    assert_eq!((refund.len(), format!("{ledger:?}").as_str()), (3, "Ledger(3 waiting)"));
    drop(refund);
    ledger.settled(Duration::from_secs(60)).await;
    assert_eq!(*heard.0.lock().unwrap(), [lost(3)]);
}

#[tokio::test]
async fn what_was_settled_is_told_apart_and_the_rest_is_lost() {
    let (ledger, heard) = ledger();
    let (taken, entry) = ledger.enter(charges(4), clock::monotonic()).unwrap().take();
    assert_eq!(taken.count(), 4);
    entry.settle([true, false, true].into_iter());
    ledger.settled(Duration::from_secs(60)).await;
    assert_eq!(*heard.0.lock().unwrap(), [Refunds { given_back: 2, nothing_left: 1, lost: 0 }, lost(1)]);
}

#[tokio::test]
async fn waiting_for_the_end_is_bounded() {
    let (ledger, _) = ledger();
    let _held = ledger.enter(charges(1), clock::monotonic()).unwrap();
    ledger.settled(Duration::from_millis(5)).await;
    assert_eq!(format!("{ledger:?}"), "Ledger(1 waiting)");
}

#[test]
fn more_than_may_wait_is_lost_at_once() {
    let (ledger, heard) = ledger();
    let held = ledger.enter(charges(WAITING), clock::monotonic());
    assert!(held.is_some() && ledger.enter(charges(2), clock::monotonic()).is_none());
    assert_eq!(*heard.0.lock().unwrap(), [lost(2)]);
    drop(held);
    assert!(ledger.enter(charges(2), clock::monotonic()).is_some());
}

#[test]
fn nothing_to_give_back_is_no_refund() {
    let (ledger, heard) = ledger();
    assert!(ledger.enter(vec![], clock::monotonic()).is_none());
    ledger.done(Refunds::default());
    assert!(heard.0.lock().unwrap().is_empty());
}
