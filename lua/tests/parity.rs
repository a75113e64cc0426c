//! The script on a real Redis and the model give the same answer, on every field, for whatever a limit accepts.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_limiter::{Algorithm, Batch, Check, Decision, Limit, Quota, State, Timestamp, decide, decide_shared};

use crate::histories::{Cost, Gap, START, costs, gaps, limits, sliding_logs};
use crate::server::RedisServer;

/// Keys of a history. Few, so that requests meet; any limit may come to any key, so that edits do too. But for sliding
/// logs, which have as many keys of their own: a request of several algorithms on one key is nothing that a store asks.
const KEYS: usize = 4;

/// One call: the clock moves on, then each request has its checks: key, limit, cost.
type Call = (Gap, Vec<Vec<(usize, usize, Cost)>>);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let check = || (0..KEYS, 0..4_usize, costs());
    let request = prop_oneof![
        4 => prop::collection::vec(check(), 1),
        2 => prop::collection::vec(check(), 2..5),
        1 => Just(vec![]),
    ];
    prop::collection::vec((gaps(true), prop::collection::vec(request, 1..6)), 1..20)
}

#[test]
fn the_script_and_the_model_agree_on_every_field() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), Batch::new(), 0));
    TestRunner::default()
        .run(
            &(prop_oneof![prop::collection::vec(limits(), 4), prop::collection::vec(sliding_logs(), 4)], calls()),
            |(limits, calls)| {
                let (client, batch, history) = &mut *world.borrow_mut();
                *history += 1;
                let mut states = [const { None }; 2 * KEYS];
                let (mut now, mut last) = (START, None);
                for (gap, requests) in calls {
                    now = gap.after(now, &limits[0], last.as_ref());
                    batch.clear();
                    let mut expected = Vec::new();
                    for request in &requests {
                        let checks: Vec<_> = request.iter().map(|check| named(*history, check, &limits)).collect();
                        batch.push(&checks);
                        expected.push(by_the_model(now, request, &limits, &mut states));
                    }
                    let decisions = if batch.distinct_keys() == 0 {
                        batch.read_reply(b"").expect("nothing").decisions
                    } else {
                        client.decide_at(now, batch)
                    };
                    prop_assert_eq!(&decisions, &expected);
                    last = decisions.into_iter().next_back();
                }
                Ok(())
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
}

fn named(history: u64, (key, limit, cost): &(usize, usize, Cost), limits: &[Limit]) -> Check<String> {
    let (limit, cost) = (limits[*limit], cost.of(&limits[*limit]));
    Check { key: format!("{history}:{}", slot(*key, &limit)), limit, cost }
}

fn slot(key: usize, limit: &Limit) -> usize {
    if limit.algorithm() == Algorithm::SlidingLog { KEYS + key } else { key }
}

fn by_the_model(
    now: u64,
    request: &[(usize, usize, Cost)],
    limits: &[Limit],
    states: &mut [Option<State>],
) -> Decision {
    let slots: Vec<_> = request.iter().map(|(key, limit, _)| slot(*key, &limits[*limit])).collect();
    let checks: Vec<_> = request.iter().map(|(_, limit, cost)| (limits[*limit], cost.of(&limits[*limit]))).collect();
    decide_shared(Timestamp::from_micros(now), &checks, &slots, states)
}

/// Long histories of one log: its ring fills, grows, goes round and is laid anew.
#[test]
fn a_log_is_the_same_in_both_however_its_ring_goes_round() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), Batch::new(), 0));
    let quotas = prop_oneof![Just(1), Just(5), Just(6), Just(20), Just(100), Just(300)];
    let steps = prop::collection::vec((0..40_u64, 0..8_u64, 0..3_usize, 0..500_u64, 1..4_usize), 50..200);
    TestRunner::default()
        .run(&(prop::collection::vec(quotas, 3), steps), |(quotas, steps)| {
            let (client, batch, history) = &mut *world.borrow_mut();
            *history += 1;
            let limits = quotas.iter().map(|n| {
                let quota = Quota::new(*n, Duration::from_micros(10_000)).expect("in range");
                Limit::sliding_log(quota).expect("in range")
            });
            let limits: Vec<_> = limits.collect();
            let (mut now, mut state) = (START, [None]);
            for (i, (gap, back, limit, thousandths, requests)) in steps.iter().enumerate() {
                now += gap * gap * gap / 16;
                // now and then the clock steps back, seldom by more than a period
                now -= if *back == 0 { (gap * 61).pow(2) / 400 } else { 0 };
                let limit = limits[if i % 8 == 0 { *limit } else { 0 }];
                let cost = (limit.capacity() * thousandths / 1000).max(1);
                batch.clear();
                let mut expected = Vec::new();
                for _ in 0..*requests {
                    batch.push(&[Check { key: format!("{history}"), limit, cost }]);
                    expected.push(decide(Timestamp::from_micros(now), &[(limit, cost)], &mut state));
                }
                prop_assert_eq!(client.decide_at(now, batch), expected);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_call_of_two_thousand_keys_is_decided_whole() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let limit = Limit::token_bucket(Quota::new(1, Duration::from_secs(60)).expect("ok"), 2);
    let limit = limit.expect("in range");
    let mut batch = Batch::new();
    for round in 0..3 {
        for key in 0..Batch::MAX_KEYS {
            assert!(batch.has_room(1) || round > 0);
            batch.push(&[Check { key: format!("key {key}"), limit, cost: 1 }]);
        }
    }
    assert!(!batch.has_room(1));
    let decisions = client.decide_at(START, &batch);
    let admitted = decisions.iter().map(|decision| decision.admitted);
    assert!(admitted.eq((0..3 * Batch::MAX_KEYS).map(|i| i < 2 * Batch::MAX_KEYS)));
}
