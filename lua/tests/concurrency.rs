//! Many callers at once on a real Redis, 64 connections of 8 processes: what is admitted, and what each is told remains, is
//! what some order one after another would have given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weir_limiter::{Algorithm, Batch, Check, Limit, Quota, Verdict};

use crate::histories::variants;
use crate::server::Client;

mod callers;

use callers::{Caller, Callers};

const HOUR: Duration = Duration::from_secs(3600);
/// What each limit here holds.
const CAPACITY: u64 = 50;
/// Some day in 2027, for what is asked at one instant.
const NOON: u64 = 1_800_000_000_000_000;

/// What was admitted under each key: what each request was told remains, and its delay in µs.
type Told = BTreeMap<String, Vec<(u64, u64)>>;

/// µs since the epoch by the server's clock.
fn clock(client: &mut Client) -> u64 {
    let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut client.connection).expect("TIME");
    seconds * 1_000_000 + micros
}

fn quota(requests: u64, period: Duration) -> Quota {
    Quota::new(requests, period).expect("in range")
}

/// Limits under which nothing comes back for an hour, but for the queue.
fn still(now: u64) -> Vec<(&'static str, Limit)> {
    // a fixed window may end while the test runs; then one a day shorter does not
    let day = Duration::from_secs(24 * 3600);
    let ends_late = |period: &Duration| {
        let period = period.as_micros() as u64;
        now % period < period - HOUR.as_micros() as u64
    };
    let period = [Quota::MAX_PERIOD, Quota::MAX_PERIOD - day].into_iter().find(ends_late).expect("one of the two");
    vec![
        ("FixedWindow", Limit::fixed_window(quota(CAPACITY, period))),
        ("SlidingWindow", Limit::sliding_window(quota(CAPACITY, Quota::MAX_PERIOD))),
        ("SlidingLog", Limit::sliding_log(quota(CAPACITY, Quota::MAX_PERIOD)).expect("in range")),
        ("TokenBucket", Limit::token_bucket(quota(1, Quota::MAX_PERIOD), CAPACITY).expect("in range")),
        ("LeakyBucket", Limit::leaky_bucket(quota(1, Quota::MAX_PERIOD), CAPACITY).expect("in range")),
    ]
}

/// One each 10 s, none later than 490 s: 50 are admitted at one instant, whether more would fit or not.
fn queues() -> [(&'static str, Limit); 2] {
    let rate = quota(6, Duration::from_secs(60));
    let with = |burst| Limit::leaky_queue(rate, burst, Duration::from_secs(490)).expect("in range");
    [("a queue that its wait fills", with(None)), ("a queue that would hold more", with(Some(500)))]
}

/// Twelve calls of four requests for one of so many keys each.
fn ask(caller: &mut Caller, name: &str, limit: Limit, keys: u64, now: Option<u64>, told: &mut Told) {
    let mut batch = Batch::new();
    for call in 0..12 {
        batch.clear();
        let asked = (0..4).map(|i| format!("{name}, {} of {keys}", (caller.number + call * 4 + i) % keys));
        let asked: Vec<_> = asked.collect();
        for key in &asked {
            batch.push(&[Check { key, limit, cost: 1 }]);
        }
        let decisions = match now {
            Some(now) => caller.client.decide_at(now, &batch),
            None => caller.client.decide(&batch),
        };
        for (key, decision) in asked.into_iter().zip(decisions) {
            let outcome = &decision.outcomes[0];
            assert!(decision.admitted || matches!(outcome.verdict, Verdict::Wait(_)), "{key}: {outcome:?}");
            if decision.admitted {
                let delay = outcome.delay.as_micros() as u64;
                told.entry(key).or_default().push((outcome.remaining, delay));
            }
        }
    }
}

fn merged(all: Vec<Told>) -> Told {
    let mut merged = Told::new();
    for (key, told) in all.into_iter().flatten() {
        merged.entry(key).or_default().extend(told);
    }
    merged.values_mut().for_each(|told| told.sort_unstable());
    merged
}

fn pttl(client: &mut Client, keys: &[Vec<u8>]) -> Vec<i64> {
    let mut pipeline = redis::pipe();
    for key in keys {
        pipeline.cmd("PTTL").arg(key);
    }
    pipeline.query(&mut client.connection).expect("PTTL")
}

fn every_key(client: &mut Client) -> Vec<Vec<u8>> {
    redis::cmd("KEYS").arg("*").query(&mut client.connection).expect("KEYS")
}

#[test]
fn every_variant_admits_its_capacity_and_deals_out_each_remainder_once() {
    let callers = Callers::start(
        "concurrency::every_variant_admits_its_capacity_and_deals_out_each_remainder_once",
        |mut caller| {
            let mut told = Told::new();
            for keys in [1, 20] {
                for (name, limit) in still(clock(&mut caller.client)) {
                    caller.together();
                    ask(&mut caller, name, limit, keys, None, &mut told);
                }
            }
            told
        },
    );
    let (_callers, all) = callers.join();
    let all = merged(all);
    assert_eq!(all.len(), 5 * (1 + 20));
    for (key, told) in all {
        assert!(told.iter().copied().eq((0..CAPACITY).map(|left| (left, 0))), "{key}: {told:?}");
    }
}

#[test]
fn a_queue_deals_out_each_departure_once() {
    let callers = Callers::start("concurrency::a_queue_deals_out_each_departure_once", |mut caller| {
        let mut told = Told::new();
        for keys in [1, 20] {
            for (name, queue) in queues() {
                caller.together();
                ask(&mut caller, name, queue, keys, Some(NOON), &mut told);
            }
        }
        told
    });
    let (_callers, all) = callers.join();
    let all = merged(all);
    assert_eq!(all.len(), 2 * (1 + 20));
    for (key, mut told) in all {
        told.sort_unstable_by_key(|(_, delay)| *delay);
        let delays = told.iter().map(|(_, delay)| *delay);
        assert!(delays.eq((0..CAPACITY).map(|before| before * 10_000_000)), "{key}: {told:?}");
    }
}

/// Of limits under which something comes back while they are asked, and whose keys end all the time.
#[test]
fn what_comes_back_meanwhile_is_admitted_too_and_nothing_else() {
    const PERIOD: u64 = 10_000;
    let period = Duration::from_micros(PERIOD);
    let limits = || {
        let queue = Limit::leaky_queue(quota(5, period), Some(5), Duration::from_secs(1)).expect("in range");
        variants(5, period).into_iter().chain([queue]).enumerate()
    };
    let callers = Callers::start(
        "concurrency::what_comes_back_meanwhile_is_admitted_too_and_nothing_else",
        |mut caller| -> Vec<(u64, u64, u64)> {
            let mut batch = Batch::new();
            let asked = limits().map(|(number, limit)| {
                caller.together();
                let (began, mut admitted) = (clock(&mut caller.client), 0);
                for _ in 0..100 {
                    batch.clear();
                    batch.push(&[Check { key: format!("{number}"), limit, cost: 1 }]);
                    admitted += u64::from(caller.client.decide(&batch)[0].admitted);
                }
                (began, admitted, clock(&mut caller.client))
            });
            asked.collect()
        },
    );
    let (_callers, all) = callers.join::<Vec<(u64, u64, u64)>>();
    for (number, limit) in limits() {
        let of_all = || all.iter().map(|told| told[number]);
        let (began, ended) = (of_all().map(|told| told.0).min(), of_all().map(|told| told.2).max());
        let (began, ended) = (began.expect("64"), ended.expect("64"));
        let most = match limit.algorithm() {
            Algorithm::FixedWindow => 5 * (ended / PERIOD - began / PERIOD + 1),
            // two less than twice the quota in any period
            Algorithm::SlidingWindow => 8 * ((ended - began) / PERIOD + 1),
            Algorithm::SlidingLog => 5 * ((ended - began) / PERIOD + 1),
            Algorithm::TokenBucket | Algorithm::LeakyBucket => 5 + (ended - began) * 5 / PERIOD,
        };
        let admitted: u64 = of_all().map(|told| told.1).sum();
        assert!((5..=most).contains(&admitted), "{limit:?}: {admitted} of {most} in {} µs", ended - began);
    }
}

#[test]
fn every_key_that_parallel_first_requests_make_has_a_time_to_live() {
    const KEYS: u64 = 100;
    let callers =
        Callers::start("concurrency::every_key_that_parallel_first_requests_make_has_a_time_to_live", |mut caller| {
            let (now, mut batch) = (clock(&mut caller.client), Batch::new());
            for key in 0..KEYS {
                batch.clear();
                every_kind(now, key).iter().for_each(|check| batch.push(std::slice::from_ref(check)));
                if key % 10 == 0 {
                    caller.together();
                }
                caller.client.decide(&batch);
            }
        });
    let (callers, _) = callers.join::<()>();
    let mut client = callers.server.connect();
    let keys = every_key(&mut client);
    assert_eq!(keys.len() as u64, KEYS * every_kind(NOON, 0).len() as u64);
    for (key, ttl) in keys.iter().zip(pttl(&mut client, &keys)) {
        assert!(ttl > 0, "{} has {ttl}", String::from_utf8_lossy(key));
    }
}

/// A caller's end at any moment: a charge is whole, with its time to live, or it is not there.
#[test]
fn callers_killed_in_the_middle_leave_no_half_of_a_charge() {
    let mut callers =
        Callers::start("concurrency::callers_killed_in_the_middle_leave_no_half_of_a_charge", |mut caller| {
            let (now, mut batch) = (clock(&mut caller.client), Batch::new());
            for key in (caller.number << 32).. {
                batch.clear();
                batch.push(&every_kind(now, key));
                caller.client.decide(&batch);
            }
        });
    let (mut client, start) = (callers.server.connect(), Instant::now());
    let kinds = every_kind(NOON, 0).len();
    while redis::cmd("DBSIZE").query::<usize>(&mut client.connection).expect("DBSIZE") < 1000 * kinds {
        assert!(start.elapsed() < Duration::from_secs(60), "they ask nothing");
        std::thread::sleep(Duration::from_millis(1));
    }
    callers.kill();
    let keys = every_key(&mut client);
    assert_eq!(keys.len() % kinds, 0, "of some requests only a part was charged");
    for (key, ttl) in keys.iter().zip(pttl(&mut client, &keys)) {
        assert!(ttl > 0, "{} has {ttl}", String::from_utf8_lossy(key));
    }
}

/// A check of each kind of limit, each with a key of its own. None of their states ends during the test.
fn every_kind(now: u64, key: u64) -> Vec<Check<String>> {
    let queue = Limit::leaky_queue(quota(1, Quota::MAX_PERIOD), None, Limit::MAX_WAIT).expect("in range");
    let limits = still(now).into_iter().chain([("queue", queue)]);
    limits.map(|(name, limit)| Check { key: format!("{name} {key}"), limit, cost: 1 }).collect()
}
