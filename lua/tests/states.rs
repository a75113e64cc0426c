//! What the script leaves in Redis: every key has a time to live, as long as the state matters and at most a second
//! more; and whatever strange thing is found under a key harms nobody.

use std::cell::RefCell;
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use weir_limiter::{Batch, Check, Limit, Quota, Verdict};

use crate::histories::{Cost, costs, limits, variants};
use crate::server::{Client, RedisServer};

fn window(requests: u64, seconds: u64) -> Limit {
    Limit::fixed_window(Quota::new(requests, Duration::from_secs(seconds)).expect("in range"))
}

fn bucket(requests: u64, seconds: u64, burst: u64) -> Limit {
    let quota = Quota::new(requests, Duration::from_secs(seconds)).expect("in range");
    Limit::token_bucket(quota, burst).expect("in range")
}

fn sliding(requests: u64, seconds: u64) -> Limit {
    Limit::sliding_window(Quota::new(requests, Duration::from_secs(seconds)).expect("in range"))
}

fn leaky(requests: u64, seconds: u64, burst: u64) -> Limit {
    let quota = Quota::new(requests, Duration::from_secs(seconds)).expect("in range");
    Limit::leaky_bucket(quota, burst).expect("in range")
}

fn batch(key: &str, limit: Limit, cost: u64) -> Batch {
    let mut batch = Batch::new();
    batch.push(&[Check { key, limit, cost }]);
    batch
}

fn pttl(client: &mut Client, key: &str) -> i64 {
    redis::cmd("PTTL").arg(key).query(&mut client.connection).expect("PTTL")
}

fn set(client: &mut Client, key: &str, value: &[u8]) {
    redis::cmd("SET").arg(key).arg(value).exec(&mut client.connection).expect("SET");
}

/// A state as the head of `state.lua` tells it.
fn value(tag: u8, x: f64, y: u32, z: u64) -> Vec<u8> {
    [&[tag], &x.to_le_bytes()[..], &y.to_le_bytes(), &z.to_le_bytes()[..6]].concat()
}

/// The header of a log, as the head of `sliding_log.lua` tells it, and no slots.
fn log(s: f64, tail: f64, newest: f64, oldest: f64, most: u32, slots: u32) -> Vec<u8> {
    let mut value = vec![5];
    [s, tail, newest, oldest].iter().for_each(|number| value.extend(number.to_le_bytes()));
    [most, slots].iter().for_each(|number| value.extend(number.to_le_bytes()));
    value.push(0);
    value
}

#[test]
fn a_log_whose_slots_were_cut_off_counts_them_as_new_and_harms_nobody() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let limit = Limit::sliding_log(Quota::new(3, Duration::from_secs(60)).expect("in range")).expect("in range");
    let (seconds, _): (u64, u64) = redis::cmd("TIME").query(&mut client.connection).expect("TIME");
    let now = (seconds * 1_000_000) as f64;
    for slots in [vec![], vec![255; 24], vec![7; 17]] {
        set(&mut client, "k", &[log(3.0, 0.0, now, now, 3, 3), slots].concat());
        let decision = client.decide(&batch("k", limit, 2)).remove(0);
        assert!(matches!(decision.outcomes[0].verdict, Verdict::Wait(_)), "{decision:?}");
        set(&mut client, "k", &log(2.0, 0.0, now, 0.0, 3, 3));
        let decision = client.decide(&batch("k", limit, 1)).remove(0);
        assert!(decision.admitted && pttl(&mut client, "k") > 0, "{decision:?}");
    }
}

#[test]
fn a_state_lives_as_long_as_it_matters_and_at_most_a_second_more() {
    let server = RedisServer::start();
    let world = RefCell::new((server.connect(), 0));
    TestRunner::default()
        .run(&(limits(), costs()), |(limit, cost): (Limit, Cost)| {
            let (client, number) = &mut *world.borrow_mut();
            *number += 1;
            let (key, cost) = (format!("k{number}"), cost.of(&limit));
            let outer = std::time::Instant::now();
            let decision = client.decide(&batch(&key, limit, cost)).remove(0);
            let ttl = pttl(client, &key);
            // what passed between the decision and PTTL, at most
            let passed = outer.elapsed().as_millis() as i64 + 1;
            let reset = decision.outcomes[0].reset.as_micros() as i64;
            if !decision.admitted || cost == 0 {
                prop_assert_eq!(ttl, -2, "a read or a refusal made a key");
            } else if ttl == -2 {
                prop_assert!(reset / 1000 <= passed, "the state is gone {reset} µs before it stops mattering");
            } else {
                prop_assert!((ttl + passed) * 1000 >= reset && ttl * 1000 <= reset + 1_000_000, "{ttl} ms, {reset} µs");
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_strange_value_counts_as_nothing_and_a_charge_puts_a_state_in_its_place() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let now = 1_800_000_000_000_000.0;
    let strange = [
        vec![],
        b"20".to_vec(),
        b"{\"tokens\": 3, \"at\": 1}".to_vec(),
        vec![0; 19],
        vec![255; 19],
        value(1, f64::NAN, 3, 60_000_000),
        value(1, f64::INFINITY, 3, 60_000_000),
        value(2, -1.0, 0, 3),
        value(2, 2_f64.powi(53), 0, 3),
        value(2, now + 0.5, 0, 3),
        value(2, now, 0, 0),
        value(3, now + 0.5, 0, 3),
        value(3, now, 0, 0),
        value(4, now, 3, 60_000_000),
        [value(4, now + 0.5, 3, 60_000_000), vec![0; 4]].concat(),
        [value(4, now, 3, 0), vec![255; 4]].concat(),
        log(0.0, 0.0, now, now, 0, 0),
        log(2.0, 3.0, now, now, 3, 3),
        log(4.0, 0.0, now, now, 3, 3),
        log(3.0, 0.0, now, now, 4, 2),
        log(1.0, 0.0, f64::NAN, now, 3, 3),
        log(1.0, 0.0, now, now + 1.0, 3, 3),
        log(1.0, 0.0, now, now, 200_000, 200_000),
        value(9, now, 0, 3),
        value(1, now, 3, 60_000_000)[..18].to_vec(),
    ];
    for (number, value) in strange.iter().enumerate() {
        for limit in variants(3, Duration::from_secs(60)) {
            let key = format!("{number} {}", limit.algorithm().name());
            set(&mut client, &key, value);
            let decision = client.decide(&batch(&key, limit, 1)).remove(0);
            assert_eq!((decision.admitted, decision.outcomes[0].remaining), (true, 2), "{value:?}");
            assert!(pttl(&mut client, &key) > 0, "{value:?} left a key without a time to live");
        }
    }
    for (number, command) in ["RPUSH", "SADD", "HSET"].iter().enumerate() {
        let key = format!("other type {number}");
        redis::cmd(command).arg(&key).arg("a").arg("b").exec(&mut client.connection).ok();
        redis::cmd("RPUSH").arg(&key).arg("a").exec(&mut client.connection).ok();
        let decision = client.decide(&batch(&key, window(3, 60), 1)).remove(0);
        assert_eq!((decision.admitted, decision.outcomes[0].remaining), (true, 2), "{command}");
        assert!(pttl(&mut client, &key) > 0);
    }
}

#[test]
fn a_state_of_another_algorithm_counts_as_nothing() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let variants = variants(3, Duration::from_secs(3600));
    for first in &variants {
        for second in variants.iter().filter(|second| *second != first) {
            let key = format!("{} {}", first.algorithm().name(), second.algorithm().name());
            assert!(client.decide(&batch(&key, *first, 3))[0].admitted);
            assert!(client.decide(&batch(&key, *second, 3))[0].admitted, "{key}");
            assert!(!client.decide(&batch(&key, *second, 1))[0].admitted, "{key}");
        }
    }
}

#[test]
fn a_key_that_lost_its_time_to_live_has_one_again_after_the_next_charge() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for limit in variants(3, Duration::from_secs(3600)) {
        let key = limit.algorithm().name();
        client.decide(&batch(key, limit, 1));
        redis::cmd("PERSIST").arg(key).exec(&mut client.connection).expect("PERSIST");
        assert_eq!(pttl(&mut client, key), -1);
        client.decide(&batch(key, limit, 1));
        assert!(pttl(&mut client, key) > 0);
    }
}

#[test]
fn a_far_future_state_is_cut_to_what_the_limit_allows_even_by_a_refusal() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let far = 4_000_000_000_000_000.0;
    let held = [
        (window(3, 60), value(1, far, 3, 60_000_000)),
        (bucket(1, 60, 3), value(2, far, 0, 1)),
        (leaky(1, 60, 3), value(3, far, 0, 1)),
        (
            Limit::sliding_log(sliding(3, 60).quota()).expect("in range"),
            [log(3.0, 0.0, far, far, 3, 3), far.to_le_bytes().repeat(3)].concat(),
        ),
        (sliding(3, 60), [value(4, far, 3, 60_000_000), vec![3, 0, 0, 0]].concat()),
    ];
    for (limit, held) in held {
        let key = limit.algorithm().name();
        set(&mut client, key, &held);
        let decision = client.decide(&batch(key, limit, 1)).remove(0);
        let Verdict::Wait(wait) = decision.outcomes[0].verdict else { panic!("{decision:?}") };
        assert!(wait <= Duration::from_secs(120));
        let ttl = pttl(&mut client, key);
        assert!((1..=181_000).contains(&ttl), "{ttl}");
    }
}
