//! Long histories of one key under one algorithm: crowded, with an edit or a step back of the clock now and then, and with
//! much given back, so that what only some rare meeting of these would show is met.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use weir_limiter::{Batch, Check, Decision, Limit, Quota, Timestamp, decide_shared, refund};

use super::{Charge, taken};
use crate::histories::{Cost, Gap, START};
use crate::server::RedisServer;

#[derive(Clone, Debug)]
enum Entry {
    /// Costs of one request, all under this limit.
    Request(usize, Vec<Cost>),
    /// Of what was charged and not given back: so many before the last.
    Refund(Index),
}

/// Three limits of one algorithm, small and of rates that no whole microseconds divide; the first is asked for most.
fn edits() -> impl Strategy<Value = Vec<Limit>> {
    let quota = (prop_oneof![1..12_u64, 1..500_u64], prop_oneof![Just(1_000_u64), 1_000..40_000_u64]);
    let one = (quota, prop_oneof![1..12_u64, 1..500_u64], prop_oneof![Just(0), 0..100_000_u64], any::<bool>());
    (0..6_u8, prop::collection::vec(one, 3)).prop_map(|(kind, several)| {
        let limit = |((n, p), burst, wait, full): ((u64, u64), u64, u64, bool)| {
            let (quota, wait) =
                (Quota::new(n, Duration::from_micros(p)).expect("in range"), Duration::from_micros(wait));
            match kind {
                0 => Ok(Limit::fixed_window(quota)),
                1 => Ok(Limit::sliding_window(quota)),
                2 => Limit::sliding_log(quota),
                3 => Limit::token_bucket(quota, burst),
                4 => Limit::leaky_bucket(quota, burst),
                _ => Limit::leaky_queue(quota, full.then_some(burst), wait),
            }
        };
        several.into_iter().map(|of| limit(of).expect("in range")).collect()
    })
}

fn calls() -> impl Strategy<Value = Vec<(Gap, Vec<Entry>)>> {
    let gap = prop_oneof![
        8 => Just(Gap::Forward(0)),
        2 => Just(Gap::Forward(1)),
        8 => (0..=2_500_u64).prop_map(Gap::Request),
        2 => (0..=1_500_u64).prop_map(Gap::Period),
        3 => any::<bool>().prop_map(|early| Gap::Wait { early }),
        1 => any::<bool>().prop_map(|early| Gap::Reset { early }),
        1 => (0..=40_000_u64).prop_map(Gap::Back),
    ];
    let cost = || {
        prop_oneof![
            6 => Just(Cost::Units(1)),
            3 => (0..=4_u64).prop_map(Cost::Units),
            3 => (1..=1_000_u64).prop_map(Cost::Share),
        ]
    };
    let limit = || prop_oneof![12 => Just(0), 1 => Just(1), 1 => Just(2_usize)];
    let entry = prop_oneof![
        6 => (limit(), prop::collection::vec(cost(), 1)),
        1 => (limit(), prop::collection::vec(cost(), 2..4)),
    ];
    let entry = prop_oneof![
        2 => entry.prop_map(|(limit, costs)| Entry::Request(limit, costs)),
        1 => any::<Index>().prop_map(Entry::Refund),
    ];
    prop::collection::vec((gap, prop::collection::vec(entry, 1..4)), 20..120)
}

#[test]
fn the_script_and_the_model_agree_through_long_histories_of_one_key() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), Batch::new(), 0));
    TestRunner::default()
        .run(&(edits(), calls()), |(limits, calls)| {
            let (client, batch, history) = &mut *world.borrow_mut();
            *history += 1;
            let (key, mut state) = (format!("one {history}"), [None]);
            let (mut now, mut last, mut charges) = (START, None::<Decision>, Vec::<Charge>::new());
            for (gap, entries) in calls {
                now = gap.after(now, &limits[0], last.as_ref());
                let at = Timestamp::from_micros(now);
                batch.clear();
                let (mut expected, mut given_back) = (Vec::new(), Vec::new());
                for entry in entries {
                    match entry {
                        Entry::Request(limit, costs) => {
                            let limit = limits[limit];
                            let costs: Vec<_> = costs.iter().map(|cost| (limit, cost.of(&limit))).collect();
                            let checks =
                                costs.iter().map(|(limit, cost)| Check { key: &key, limit: *limit, cost: *cost });
                            batch.push(&checks.collect::<Vec<_>>());
                            expected.push(decide_shared(at, &costs, &vec![0; costs.len()], &mut state));
                        }
                        Entry::Refund(which) if !charges.is_empty() => {
                            // the last half of the time, else one of the last six
                            let back = which.index(12).saturating_sub(6).min(charges.len() - 1);
                            let (_, by_the_model, by_the_script) = charges.remove(charges.len() - 1 - back);
                            batch.push_refund(&key, by_the_script);
                            given_back.push(refund(at, by_the_model, &mut state[0]));
                        }
                        Entry::Refund(_) => {}
                    }
                }
                if batch.distinct_keys() == 0 {
                    continue;
                }
                let mut reply = client.answer_at(now, batch);
                prop_assert_eq!(&reply.decisions, &expected);
                prop_assert_eq!(&reply.refunds, &given_back);
                let slots = expected.iter().map(|decision| vec![0; decision.outcomes.len()]).collect();
                charges.extend(taken(slots, &mut expected, &mut reply.decisions));
                last = reply.decisions.pop().or(last);
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}
