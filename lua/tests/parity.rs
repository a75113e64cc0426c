//! The script on a real Redis and the model give the same answer, on every field, for whatever a limit accepts.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_limiter::{
    Algorithm, Batch, Check, Decision, Limit, Quota, Receipt, State, Timestamp, decide, decide_shared, refund,
};

mod one_key;

use crate::histories::{Cost, Gap, START, costs, gaps, limits, sliding_logs};
use crate::server::RedisServer;

/// Keys of a history. Few, so that requests meet; any limit may come to any key, so that edits do too. But for sliding
/// logs, which have as many keys of their own: a request of several algorithms on one key is nothing that a store asks.
const KEYS: usize = 4;

/// One call: the clock moves on, then come its entries.
type Call = (Gap, Vec<Entry>);

#[derive(Clone, Debug)]
enum Entry {
    /// The checks: key, limit, cost.
    Request(Vec<(usize, usize, Cost)>),
    /// What was charged by an earlier call and not given back, by its place among all that is so.
    Refund(prop::sample::Index),
}

/// Of one charge: the key's place, the model's receipt and the script's.
type Charge = (usize, Receipt, Receipt);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let check = || (0..KEYS, 0..4_usize, costs());
    let entry = prop_oneof![
        4 => prop::collection::vec(check(), 1).prop_map(Entry::Request),
        2 => prop::collection::vec(check(), 2..5).prop_map(Entry::Request),
        1 => Just(Entry::Request(vec![])),
        3 => any::<prop::sample::Index>().prop_map(Entry::Refund),
    ];
    prop::collection::vec((gaps(true), prop::collection::vec(entry, 1..6)), 1..20)
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
                let (mut now, mut last, mut charges) = (START, None, Vec::<Charge>::new());
                for (gap, entries) in calls {
                    now = gap.after(now, &limits[0], last.as_ref());
                    batch.clear();
                    let (mut expected, mut given_back, mut slots) = (Vec::new(), Vec::new(), Vec::new());
                    for entry in &entries {
                        match entry {
                            Entry::Request(request) => {
                                let checks: Vec<_> =
                                    request.iter().map(|check| named(*history, check, &limits)).collect();
                                batch.push(&checks);
                                expected.push(by_the_model(now, request, &limits, &mut states));
                                slots.push(request.iter().map(|(key, limit, _)| slot(*key, &limits[*limit])).collect());
                            }
                            Entry::Refund(which) if !charges.is_empty() => {
                                let (slot, by_the_model, by_the_script) =
                                    charges.swap_remove(which.index(charges.len()));
                                batch.push_refund(format!("{history}:{slot}"), by_the_script);
                                given_back.push(refund(Timestamp::from_micros(now), by_the_model, &mut states[slot]));
                            }
                            Entry::Refund(_) => {}
                        }
                    }
                    let (mut decisions, refunds) = if batch.distinct_keys() == 0 {
                        (batch.read_reply(b"").expect("nothing").decisions, vec![])
                    } else {
                        let reply = client.answer_at(now, batch);
                        (reply.decisions, reply.refunds)
                    };
                    prop_assert_eq!(&decisions, &expected);
                    prop_assert_eq!(&refunds, &given_back);
                    charges.extend(taken(slots, &mut expected, &mut decisions));
                    last = decisions.into_iter().next_back();
                }
                Ok(())
            },
        )
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The receipts of both.
fn taken(slots: Vec<Vec<usize>>, model: &mut [Decision], script: &mut [Decision]) -> Vec<Charge> {
    let mut taken = Vec::new();
    for ((slots, model), script) in slots.into_iter().zip(model).zip(script) {
        for ((slot, model), script) in slots.into_iter().zip(&mut model.outcomes).zip(&mut script.outcomes) {
            taken.extend(model.receipt.take().zip(script.receipt.take()).map(|(model, script)| (slot, model, script)));
        }
    }
    taken
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

/// Long histories of one log: its ring fills, grows, goes round, is laid anew, and has units given back to it.
#[test]
fn a_log_is_the_same_in_both_however_its_ring_goes_round() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), Batch::new(), 0));
    let quotas = prop_oneof![Just(1), Just(5), Just(6), Just(20), Just(100), Just(300)];
    let steps = prop::collection::vec(
        (0..40_u64, 0..8_u64, 0..3_usize, 0..500_u64, 1..4_usize, any::<Option<prop::sample::Index>>()),
        50..200,
    );
    TestRunner::default()
        .run(&(prop::collection::vec(quotas, 3), steps), |(quotas, steps)| {
            let (client, batch, history) = &mut *world.borrow_mut();
            *history += 1;
            let limits = quotas.iter().map(|n| {
                let quota = Quota::new(*n, Duration::from_micros(10_000)).expect("in range");
                Limit::sliding_log(quota).expect("in range")
            });
            let limits: Vec<_> = limits.collect();
            let (mut now, mut state, mut charges) = (START, [None], Vec::<Charge>::new());
            for (i, (gap, back, limit, thousandths, requests, given_back)) in steps.iter().enumerate() {
                now += gap * gap * gap / 16;
                // now and then the clock steps back, seldom by more than a period
                now -= if *back == 0 { (gap * 61).pow(2) / 400 } else { 0 };
                let limit = limits[if i % 8 == 0 { *limit } else { 0 }];
                let cost = (limit.capacity() * thousandths / 1000).max(1);
                batch.clear();
                let (mut expected, mut refunds) = (Vec::new(), Vec::new());
                for request in 0..*requests {
                    batch.push(&[Check { key: format!("{history}"), limit, cost }]);
                    expected.push(decide(Timestamp::from_micros(now), &[(limit, cost)], &mut state));
                    if let Some(which) = given_back.filter(|_| request == 0 && !charges.is_empty()) {
                        // mostly one of the last
                        let last = charges.len().saturating_sub(6);
                        let (_, model, script) = charges.remove(last + which.index(charges.len() - last));
                        batch.push_refund(format!("{history}"), script);
                        refunds.push(refund(Timestamp::from_micros(now), model, &mut state[0]));
                    }
                }
                let mut reply = client.answer_at(now, batch);
                prop_assert_eq!(&reply.decisions, &expected);
                prop_assert_eq!(&reply.refunds, &refunds);
                charges.extend(taken(vec![vec![0]; expected.len()], &mut expected, &mut reply.decisions));
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
