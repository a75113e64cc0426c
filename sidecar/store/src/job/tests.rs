use std::time::Duration;

use weir_limiter::{Limit, Quota};

use super::*;
use crate::key::{InstallKey, Namespace};
use crate::memory::MemoryStore;
use crate::refunds::Ledger;

type Answer = oneshot::Receiver<Result<Decision, StoreError>>;

fn request(identities: &[u64], deadline: Instant) -> (Request, Answer) {
    let namespace = Namespace::new("shop").unwrap();
    let limit = Limit::fixed_window(Quota::new(1, Duration::from_secs(1)).unwrap());
    let key = |identity: &u64| StateKey::new(&InstallKey::ZEROS, &namespace, &identity.to_le_bytes());
    let checks = identities.iter().map(|identity| Check { key: key(identity), limit, cost: 1 }).collect();
    let (reply, answer) = oneshot::channel();
    (Request { checks, deadline, reply }, answer)
}

#[test]
fn a_call_carries_at_most_256_checks_and_the_rest_waits_in_order() {
    let now = Instant::now();
    let requests = (0..300).map(|number| request(&[2 * number, 2 * number + 1], now + Duration::from_secs(1)));
    let (mut queue, answers): (VecDeque<_>, Vec<_>) = requests.unzip();
    let mut group = Group::default();
    let mut calls = Vec::new();
    while group.fill(&mut VecDeque::new(), &mut queue, now) {
        calls.push((group.len(), group.batch.distinct_keys()));
    }
    assert_eq!(calls, [(128, 256), (128, 256), (44, 88)]);
    drop(answers);
}

#[test]
fn requests_for_one_key_are_one_call_with_one_key_however_many_they_are() {
    let now = Instant::now();
    let requests = (0..2_000).map(|_| request(&[7], now + Duration::from_secs(1)));
    let (mut queue, answers): (VecDeque<_>, Vec<_>) = requests.unzip();
    let mut group = Group::default();
    assert!(group.fill(&mut VecDeque::new(), &mut queue, now));
    assert_eq!((group.len(), group.batch.distinct_keys()), (2_000, 1));
    assert!(queue.is_empty() && group.batch.args().concat().len() < 64);
    drop(answers);
}

#[test]
fn those_who_ask_what_a_full_call_asks_already_go_with_it() {
    let now = Instant::now();
    let requests = (0..256).chain(0..10).chain([256]).map(|key| request(&[key], now + Duration::from_secs(1)));
    let (mut queue, answers): (VecDeque<_>, Vec<_>) = requests.unzip();
    let mut group = Group::default();
    assert!(group.fill(&mut VecDeque::new(), &mut queue, now));
    assert_eq!((group.len(), group.batch.distinct_keys(), queue.len()), (266, 256, 1));
    drop(answers);
}

#[test]
fn what_nobody_awaits_any_more_is_not_sent() {
    let now = Instant::now();
    let (late, _answer) = request(&[1], now);
    let (left, answer) = request(&[2], now + Duration::from_secs(1));
    drop(answer);
    assert!(!Group::default().fill(&mut VecDeque::new(), &mut VecDeque::from([late, left]), now));
}

#[test]
fn an_answer_that_is_no_reply_of_the_script_is_an_error_for_each() {
    let now = Instant::now();
    for wrong in [Value::Okay, Value::BulkString(b"nonsense".to_vec())] {
        let (request, mut answer) = request(&[1], now + Duration::from_secs(1));
        let mut group = Group::default();
        group.fill(&mut VecDeque::new(), &mut VecDeque::from([request]), now);
        assert_eq!(group.settle(Ok(wrong)).unwrap_err().kind(), Reason::Protocol);
        assert_eq!(answer.try_recv().unwrap().unwrap_err().kind(), Reason::Protocol);
    }
}

/// A refund of so many charges, of which the ledger knows.
fn refund(ledger: &Ledger, number: u64, deadline: Instant) -> Refund {
    let store = MemoryStore::default();
    let (request, _) = request(&(0..number).collect::<Vec<_>>(), deadline);
    let decision = store.decide(crate::clock::wall(), &request.checks);
    let receipts = decision.outcomes.into_iter().map(|outcome| outcome.receipt.unwrap());
    ledger.enter(request.checks.iter().map(|check| check.key).zip(receipts).collect(), deadline).unwrap()
}

#[test]
fn refunds_come_first_and_take_half_of_a_call_at_most() {
    let (now, ledger) = (Instant::now(), Ledger::new(std::sync::Arc::new(())));
    let later = now + Duration::from_secs(1);
    let mut refunds: VecDeque<_> = (0..6).map(|_| refund(&ledger, 60, later)).collect();
    let requests = (0..400).map(|number| request(&[number], later));
    let (mut queue, answers): (VecDeque<_>, Vec<_>) = requests.unzip();
    let mut group = Group::default();
    let mut calls = Vec::new();
    while group.fill(&mut refunds, &mut queue, now) {
        calls.push((group.refunds.len(), group.len()));
    }
    assert_eq!(calls, [(2, 136), (2, 136), (2, 128)]);
    drop(answers);
}

#[test]
fn a_refund_larger_than_a_call_goes_out_and_one_that_is_late_does_not() {
    let (now, ledger) = (Instant::now(), Ledger::new(std::sync::Arc::new(())));
    let mut refunds = VecDeque::from([refund(&ledger, 2, now), refund(&ledger, 300, now + Duration::from_secs(1))]);
    let mut group = Group::default();
    assert!(group.fill(&mut refunds, &mut VecDeque::new(), now));
    assert_eq!((group.refunds.len(), group.batch.distinct_keys(), group.len()), (1, 300, 0));
    assert!(refunds.is_empty());
}
