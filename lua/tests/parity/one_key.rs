//! Long histories of one key under one algorithm: crowded, with an edit or a step back of the clock now and then, and with
//! much given back, so that what only some rare meeting of these would show is met.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use weir_limiter::{
    Batch, Check, Decision, Limit, Outcome, Quota, Reply, State, Timestamp, decide_shared, refund, test_clock,
};

use super::{Charge, taken};
use crate::histories::{Cost, Gap, START};
use crate::server::{Client, RedisServer};

/// Time to live of a key whose end the script left as it was, in ms; longer than any that it sets.
const UNTOUCHED: i64 = 1000 * 365 * 24 * 3_600_000;

/// Seconds and microseconds of Redis's clock.
type Clock = (u64, u64);

#[derive(Clone, Debug)]
enum Entry {
    /// Costs of one request, all under this limit.
    Request(usize, Vec<Cost>),
    /// Of what was charged and not given back: so many before the last.
    Refund(Index),
}

/// Requests, period, burst, longest wait.
type Numbers = (u64, Duration, Option<u64>, Duration);

/// Small ones, of rates that no whole microseconds divide.
fn small() -> impl Strategy<Value = Numbers> {
    let requests = || prop_oneof![1..12_u64, 1..500_u64];
    let periods = prop_oneof![Just(1_000_u64), 1_000..40_000_u64, 1_000_000..3_600_000_000_u64];
    let waits = prop_oneof![Just(0), 0..100_000_u64, 0..600_000_000_u64];
    let micros = Duration::from_micros;
    (requests(), periods.prop_map(micros), prop::option::of(requests()), waits.prop_map(micros))
}

/// Those whose products are beyond what a double holds.
fn large() -> impl Strategy<Value = Numbers> {
    let requests = || {
        (11..30_u32, any::<u64>())
            .prop_map(|(bits, noise)| (1 << bits.min(29)) + (noise & ((1 << bits) - 1)) % 400_000_000)
    };
    let longest = Quota::MAX_PERIOD.as_micros() as u64;
    let periods = prop_oneof![Just(longest), 1_000_000_000..longest];
    let micros = Duration::from_micros;
    (requests(), periods.prop_map(micros), prop::option::of(requests()), (0..600_000_000_u64).prop_map(micros))
}

/// Three limits of one algorithm; the first is asked for most. If no state is to be cut by them, windows and logs have one
/// period, and buckets are all the first.
fn edits(cut: bool) -> impl Strategy<Value = Vec<Limit>> {
    let numbers = prop_oneof![4 => prop::collection::vec(small(), 3), 1 => prop::collection::vec(large(), 3)];
    (0..6_u8, numbers).prop_map(move |(kind, several)| {
        let first = several[0];
        let limit = |mut of: Numbers| {
            match (cut, kind) {
                (true, _) => {}
                (false, 0..=2) => of.1 = first.1,
                (false, _) => of = first,
            }
            let (requests, period, burst, wait) = of;
            let quota = |requests| Quota::new(requests, period).expect("in range");
            let bucket = |burst| match kind {
                3 => Limit::token_bucket(quota(requests), burst),
                _ => Limit::leaky_bucket(quota(requests), burst),
            };
            match kind {
                0 => Limit::fixed_window(quota(requests)),
                1 => Limit::sliding_window(quota(requests)),
                2 => Limit::sliding_log(quota(requests.min(5_000))).expect("in range"),
                3 | 4 => bucket(burst.unwrap_or(requests)).or_else(|_| bucket(requests)).expect("in range"),
                _ => Limit::leaky_queue(quota(requests), burst, wait)
                    .or_else(|_| Limit::leaky_queue(quota(requests), None, wait))
                    .expect("in range"),
            }
        };
        several.into_iter().map(limit).collect()
    })
}

fn calls(backward: bool) -> impl Strategy<Value = Vec<(Gap, Vec<Entry>)>> {
    let back = u32::from(backward);
    let gap = prop_oneof![
        8 => Just(Gap::Forward(0)),
        2 => Just(Gap::Forward(1)),
        8 => (0..=2_500_u64).prop_map(Gap::Request),
        2 => (0..=1_500_u64).prop_map(Gap::Period),
        3 => any::<bool>().prop_map(|early| Gap::Wait { early }),
        1 => any::<bool>().prop_map(|early| Gap::Reset { early }),
        back => (0..=40_000_u64).prop_map(Gap::Back),
        back => (0..=400_000_000_u64).prop_map(Gap::Back),
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
    prop::collection::vec((gap, prop::collection::vec(entry, 1..4)), 1..120)
}

#[test]
fn the_script_and_the_model_agree_through_long_histories_of_one_key() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), 0));
    TestRunner::default()
        .run(&(edits(true), calls(true)), |(limits, calls)| {
            let (client, history) = &mut *world.borrow_mut();
            *history += 1;
            agree(&limits, calls, &format!("{history}"), |now, batch, expected, _| {
                let reply = client.answer_at(now, batch);
                prop_assert_eq!(&reply.decisions, expected);
                Ok(Some(reply))
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// The key ends when the script said, by the histories' clock; the model's state is there for ever. By a clock that goes
/// forward and without edits that cut: what a state was cut to may end before what it had been is due.
#[test]
fn a_key_that_ends_is_not_missed() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), 0));
    TestRunner::default()
        .run(&(edits(false), calls(false)), |(limits, calls)| {
            let (client, history) = &mut *world.borrow_mut();
            *history += 1;
            let key = format!("{history}");
            let mut end = None;
            agree(&limits, calls, &key, |now, batch, expected, state| {
                if end.take_if(|end| *end <= now).is_some() {
                    redis::cmd("DEL").arg(&key).exec(&mut client.connection).expect("DEL");
                }
                let Some((reply, set)) = answer(client, now, batch, &key) else { return Ok(None) };
                prop_assert!(reply.decisions.iter().map(told).eq(expected.iter().map(told)), "{reply:?} {expected:?}");
                if let (Some(end), Some(state), []) = (set, state, &reply.refunds[..]) {
                    // by the limit under which it would live longest: the last charge may have been under any
                    let due = limits.iter().map(|limit| state.expires(limit).as_micros()).max().expect("three");
                    prop_assert!(end <= due.max(now) + 1_000_000, "{end} instead of {due}");
                }
                end = set.or(end);
                Ok(Some(reply))
            })
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

/// Runs a history by the model and lets `ask` hold a real Redis to it: given the instant, what is asked, the model's decisions
/// and its state after, it gives the reply, or nothing where the history must end.
fn agree(
    limits: &[Limit],
    calls: Vec<(Gap, Vec<Entry>)>,
    key: &str,
    mut ask: impl FnMut(u64, &Batch, &Vec<Decision>, Option<&State>) -> Result<Option<Reply>, TestCaseError>,
) -> Result<(), TestCaseError> {
    let (mut state, mut batch, mut charges) = ([None], Batch::new(), Vec::<Charge>::new());
    let (mut now, mut last) = (START, None::<Decision>);
    for (gap, entries) in calls {
        now = gap.after(now, &limits[0], last.as_ref());
        let at = Timestamp::from_micros(now);
        batch.clear();
        let (mut expected, mut given_back) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Request(limit, costs) => {
                    let limit = limits[limit];
                    let checks: Vec<_> = costs.iter().map(|cost| Check { key, limit, cost: cost.of(&limit) }).collect();
                    batch.push(&checks);
                    let costs: Vec<_> = checks.iter().map(|check| (limit, check.cost)).collect();
                    expected.push(decide_shared(at, &costs, &vec![0; costs.len()], &mut state));
                }
                Entry::Refund(which) if !charges.is_empty() => {
                    // the last half of the time, else one of the last six
                    let back = which.index(12).saturating_sub(6).min(charges.len() - 1);
                    let (_, by_the_model, by_the_script) = charges.remove(charges.len() - 1 - back);
                    batch.push_refund(key, by_the_script);
                    given_back.push(refund(at, by_the_model, &mut state[0]));
                }
                Entry::Refund(_) => {}
            }
        }
        if !batch.is_empty() {
            let Some(mut reply) = ask(now, &batch, &expected, state[0].as_ref())? else { break };
            prop_assert_eq!(&reply.refunds, &given_back);
            let slots = expected.iter().map(|decision| vec![0; decision.outcomes.len()]).collect();
            charges.extend(taken(slots, &mut expected, &mut reply.decisions));
            last = reply.decisions.pop().or(last);
        }
    }
    Ok(())
}

/// All but the generation of the state that a receipt tells: it begins anew with a new key.
fn told(decision: &Decision) -> impl PartialEq + use<> {
    let outcome = |outcome: &Outcome| {
        (outcome.verdict, outcome.remaining, outcome.reset, outcome.more, outcome.delay, outcome.receipt.is_some())
    };
    (decision.admitted, decision.outcomes.iter().map(outcome).collect::<Vec<_>>())
}

/// The script's answer for a batch of one key, and when that is to end, µs by the clock of `now`, if the script set it; no time
/// passes for it in Redis. Nothing when Redis was so slow that the key may have ended by its own clock.
fn answer(client: &mut Client, now: u64, batch: &Batch, key: &str) -> Option<(Reply, Option<u64>)> {
    let mut calls = redis::pipe();
    calls.atomic().cmd("PEXPIRE").arg(key).arg(UNTOUCHED).ignore();
    calls.cmd("TIME").cmd("EVALSHA").arg(client.digest()).arg(1).arg(batch.keys()).arg(batch.args());
    calls.arg(test_clock(Timestamp::from_micros(now), 1));
    calls.cmd("PTTL").arg(key).cmd("TIME").cmd("PERSIST").arg(key);
    let (before, reply, life, after, persists): (Clock, Vec<u8>, i64, Clock, bool) =
        calls.query(&mut client.connection).expect("the script never fails");
    assert!(life != -1, "{key} has no time to live");
    // what passed for Redis in between was its life too
    let passed = (after.0 - before.0) * 1_000_000 + after.1 - before.1;
    let end = (0..UNTOUCHED / 2).contains(&life).then(|| now + life as u64 * 1000 + 1000 + passed);
    let reply = batch.read_reply(&reply).expect("a reply to this batch");
    (persists || life < 0 && passed < 500).then_some((reply, end))
}
