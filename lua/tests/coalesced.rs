//! A group that is asked n times as one entry: the answers and what stays in a real Redis are those of n entries.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use redis::cmd;
use weir_limiter::{
    Algorithm, Batch, Check, Decision, InvalidReply, Limit, Quota, Receipt, Timestamp, Verdict, test_clock,
};

use crate::histories::{Cost, Gap, START, costs, edits, gaps, limits, sliding_logs, variants};
use crate::server::{Client, RedisServer};

/// Keys of a history, and as many of its logs: no store asks for a log and something else under one key.
const KEYS: usize = 4;

/// One call: the clock moves on, then come its entries.
type Call = (Gap, Vec<Entry>);

#[derive(Clone, Debug)]
enum Entry {
    /// The checks: key, limit, cost. They are asked so many times.
    Requests(Vec<(usize, usize, Cost)>, u16),
    /// What was charged by an earlier call and not given back, by its place among all that is so.
    Refund(Index),
}

/// Of one charge: the key, and the receipts of both ways.
type Charge = (usize, Receipt, Receipt);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let times = prop_oneof![1 => Just(1), 4 => 2..8_u16, 4 => 8..80_u16, 1 => 80..=1_000_u16];
    // of shares of some thousandths, some of a thousand pass
    let cost =
        || prop_oneof![3 => costs(), 1 => (1..20_u64).prop_map(Cost::Share), 1 => (0..20_u64).prop_map(Cost::Units)];
    let check = move || (0..KEYS, prop_oneof![4 => Just(0), 3 => 0..3_usize], cost());
    let alone = prop::collection::vec(check(), 1);
    let group = (prop::collection::vec(check(), 2..5), 0..4_u8).prop_map(|(mut checks, kind)| {
        if kind > 0 {
            // each on a key of its own, which is what most groups are
            checks.iter_mut().enumerate().for_each(|(key, check)| check.0 = key);
        }
        checks
    });
    let checks = prop_oneof![3 => alone, 2 => group];
    let entry = prop_oneof![
        3 => (checks, times).prop_map(|(checks, times)| Entry::Requests(checks, times)),
        1 => any::<Index>().prop_map(Entry::Refund),
    ];
    prop::collection::vec((gaps(true), prop::collection::vec(entry, 1..5)), 1..12)
}

#[test]
fn one_entry_is_answered_as_n_and_leaves_what_n_leave() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), 0));
    let any =
        prop_oneof![prop::collection::vec(limits(), 3), prop::collection::vec(sliding_logs(), 3), edits(), edits()];
    TestRunner::default()
        .run(&(any, calls()), |(limits, calls)| {
            let (client, history) = &mut *world.borrow_mut();
            *history += 1;
            agree(client, *history, &limits, calls)
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Runs a history twice beside each other, on keys that end in 1 and in n.
fn agree(client: &mut Client, history: u64, limits: &[Limit], calls: Vec<Call>) -> Result<(), TestCaseError> {
    // a key's life is told from when it was set, and the two are set one after the other
    let (started, mut one, mut many) = (Instant::now(), Batch::new(), Batch::new());
    let (mut now, mut last, mut charges) = (START, None, Vec::<Charge>::new());
    for (gap, entries) in calls {
        now = gap.after(now, &limits[0], last.as_ref());
        one.clear();
        many.clear();
        let (mut keys, mut slots) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Requests(checks, times) => {
                    let slot =
                        |key, limit: &Limit| key + usize::from(limit.algorithm() == Algorithm::SlidingLog) * KEYS;
                    let group = |way: &str| -> Vec<_> {
                        let named = |&(key, limit, cost): &(usize, usize, Cost)| {
                            let limit: Limit = limits[limit];
                            Check {
                                key: format!("{history}:{}:{way}", slot(key, &limit)),
                                limit,
                                cost: cost.of(&limit),
                            }
                        };
                        checks.iter().map(named).collect()
                    };
                    one.push_many(&group("1"), times);
                    let group = group("n");
                    (0..times).for_each(|_| many.push(&group));
                    let of_this = checks.iter().map(|(key, limit, _)| slot(*key, &limits[*limit]));
                    let of_this: Vec<_> = of_this.collect();
                    keys.extend(of_this.iter().copied());
                    slots.extend(std::iter::repeat_n(of_this, usize::from(times)));
                }
                Entry::Refund(which) if !charges.is_empty() => {
                    // mostly one of the last
                    let back = which.index(charges.len().min(100));
                    let (key, of_one, of_many) = charges.remove(charges.len() - 1 - back);
                    one.push_refund(format!("{history}:{key}:1"), of_one);
                    many.push_refund(format!("{history}:{key}:n"), of_many);
                    keys.push(key);
                }
                Entry::Refund(_) => {}
            }
        }
        prop_assert_eq!((one.len(), one.distinct_keys()), (many.len(), many.distinct_keys()));
        if one.is_empty() {
            continue;
        }
        let (mut answer, mut expected) = (client.answer_at(now, &one), client.answer_at(now, &many));
        prop_assert_eq!(&answer, &expected);
        for key in keys {
            let [one, many] = ["1", "n"].map(|way| held(client, &format!("{history}:{key}:{way}")));
            let passed = started.elapsed().as_millis() as u64 + 1;
            prop_assert_eq!(&one.0, &many.0, "key {}", key);
            prop_assert!(one.1.abs_diff(many.1) <= passed, "{} ms, {} ms, after {passed} ms", one.1, many.1);
        }
        let pairs = answer.decisions.iter_mut().zip(&mut expected.decisions);
        for (slots, (one, many)) in slots.into_iter().zip(pairs) {
            for ((key, one), many) in slots.into_iter().zip(&mut one.outcomes).zip(&mut many.outcomes) {
                charges.extend(one.receipt.take().zip(many.receipt.take()).map(|(one, many)| (key, one, many)));
            }
        }
        last = answer.decisions.pop();
    }
    Ok(())
}

/// The bytes under a key, and how many ms it lives.
fn held(client: &mut Client, key: &str) -> (Vec<u8>, i64) {
    let mut pipeline = redis::pipe();
    pipeline.cmd("GET").arg(key).cmd("PTTL").arg(key);
    let (value, life): (Option<Vec<u8>>, i64) = pipeline.query(&mut client.connection).expect("GET");
    (value.unwrap_or_default(), life)
}

fn queue(requests: u64, period: Duration) -> Limit {
    let quota = Quota::new(requests, period).expect("in range");
    Limit::leaky_queue(quota, Some(requests), period).expect("in range")
}

#[test]
fn sixty_four_who_ask_for_ten_are_ten_who_pass() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let limits = variants(10, Duration::from_secs(100)).into_iter().chain([queue(10, Duration::from_secs(100))]);
    for (number, limit) in limits.enumerate() {
        let mut batch = Batch::new();
        batch.push_many(&[Check { key: format!("{number}"), limit, cost: 1 }], 64);
        assert_eq!((batch.len(), batch.distinct_keys()), (64, 1));
        let decisions = client.decide_at(START, &batch);
        assert_eq!(decisions.len(), 64);
        for (i, decision) in decisions.iter().enumerate() {
            let outcome = &decision.outcomes[0];
            assert_eq!((decision.admitted, outcome.remaining), (i < 10, 9_u64.saturating_sub(i as u64)), "{limit:?}");
            assert_eq!(outcome.receipt.is_some(), i < 10);
            if i >= 10 {
                assert_eq!(outcome, &decisions[10].outcomes[0]);
                assert!(matches!(outcome.verdict, Verdict::Wait(_)));
            } else if limit.max_wait().is_some() {
                // 100 s for 10: one departs each 10 s
                assert_eq!(outcome.delay, Duration::from_secs(10 * i as u64));
            }
        }
    }
}

#[test]
fn the_tightest_check_of_a_group_tells_how_many_pass_and_the_others_are_charged_for_no_more() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let all = variants(1_000, Duration::from_secs(3_600));
    let tight = Limit::token_bucket(Quota::new(7, Duration::from_secs(3_600)).expect("in range"), 7).expect("in range");
    let checks = all.iter().chain([&tight]).enumerate();
    let group: Vec<_> = checks.map(|(i, limit)| Check { key: format!("k{i}"), limit: *limit, cost: 2 }).collect();
    let mut batch = Batch::new();
    batch.push_many(&group, 500);
    let decisions = client.decide_at(START, &batch);
    assert_eq!(decisions.iter().filter(|decision| decision.admitted).count(), 3);
    let left = |decision: &Decision| -> Vec<_> { decision.outcomes.iter().map(|outcome| outcome.remaining).collect() };
    assert_eq!(left(&decisions[2]), [994, 994, 994, 994, 994, 1]);
    assert_eq!(left(&decisions[499]), left(&decisions[2]));
}

#[test]
fn what_cannot_be_told_at_once_is_told_one_by_one() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let limit = variants(10, Duration::from_secs(100))[0];
    let check = |key: &'static str, limit| Check { key, limit, cost: 1 };
    let never = Limit::fixed_window(Quota::new(0, Duration::from_secs(100)).expect("in range"));
    let mut batch = Batch::new();
    batch.push_many::<&str>(&[], 3);
    batch.push_many(&[check("twice", limit), check("twice", limit)], 6);
    batch.push_many(&[check("never", never)], 2);
    batch.push_many(&[check("none", limit)], 0);
    batch.push_many(&[check("once", limit)], 1);
    assert_eq!((batch.len(), batch.distinct_keys()), (12, 3));
    let admitted: Vec<_> = client.decide_at(START, &batch).iter().map(|decision| decision.admitted).collect();
    assert_eq!(admitted, [true, true, true, true, true, true, true, true, false, false, false, true]);
}

#[test]
fn a_reply_that_the_script_never_writes_is_not_read() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for limit in variants(10, Duration::from_secs(100)) {
        let mut batch = Batch::new();
        batch.push_many(&[Check { key: "k", limit, cost: 4 }], 3);
        let mut call = cmd("EVALSHA");
        call.arg(client.digest()).arg(1).arg(batch.keys()).arg(batch.args());
        call.arg(test_clock(Timestamp::from_micros(START), 86_400_000));
        let right: Vec<u8> = call.query(&mut client.connection).expect("it never fails");
        cmd("DEL").arg("k").exec(&mut client.connection).expect("DEL");
        assert_eq!(batch.read_reply(&right).expect("a reply").decisions.len(), 3);
        // how many were admitted is at 8: more than were asked, and more than what is counted allows
        let mut more = right.clone();
        more[8] = 4;
        assert_eq!(batch.read_reply(&more), Err(InvalidReply::Entry(0)));
        let mut half = right.clone();
        half[8] = 3;
        half.truncate(8 + 2 + (right.len() - 10) / 2);
        assert_eq!(batch.read_reply(&half), Err(InvalidReply::Entry(0)), "{limit:?}");
        assert_eq!(batch.read_reply(&right[..right.len() - 1]), Err(InvalidReply::Entry(0)));
        assert_eq!(batch.read_reply(&[&right[..], &[0]].concat()), Err(InvalidReply::TooLong(1)));
    }
}
