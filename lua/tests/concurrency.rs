//! Many callers at once on a real Redis: what is admitted is what some order one after another would have admitted.

use std::collections::BTreeMap;
use std::thread;
use std::time::Duration;

use weir_limiter::{Batch, Check, Limit, Quota, Verdict};

use crate::histories::variants;
use crate::server::{Client, RedisServer};

const CALLERS: u64 = 8;

/// µs since the epoch by the server's clock.
fn clock(client: &mut Client) -> u64 {
    let (seconds, micros): (u64, u64) = redis::cmd("TIME").query(&mut client.connection).expect("TIME");
    seconds * 1_000_000 + micros
}

fn quota(requests: u64, period: Duration) -> Quota {
    Quota::new(requests, period).expect("in range")
}

/// Eight callers, each with calls of four requests, one key of `keys` after the other. Admitted by key.
fn hammer(server: &RedisServer, limit: Limit, keys: u64, calls: u64) -> BTreeMap<u64, u64> {
    let caller = |number: u64| {
        move || {
            let mut client = server.connect();
            let (mut admitted, mut batch) = (BTreeMap::<u64, u64>::new(), Batch::new());
            for call in 0..calls {
                batch.clear();
                let asked = (0..4).map(|i| (number + call * 4 + i) % keys).collect::<Vec<_>>();
                for key in &asked {
                    batch.push(&[Check {
                        key: format!("{} {key} of {keys}", limit.algorithm().name()),
                        limit,
                        cost: 1,
                    }]);
                }
                for (key, decision) in asked.iter().zip(client.decide(&batch)) {
                    assert!(decision.admitted || matches!(decision.outcomes[0].verdict, Verdict::Wait(_)));
                    *admitted.entry(*key).or_default() += u64::from(decision.admitted);
                }
            }
            admitted
        }
    };
    thread::scope(|scope| {
        let callers: Vec<_> = (0..CALLERS).map(|number| scope.spawn(caller(number))).collect();
        let mut total = BTreeMap::<u64, u64>::new();
        for caller in callers {
            for (key, admitted) in caller.join().expect("a caller") {
                *total.entry(key).or_default() += admitted;
            }
        }
        total
    })
}

#[test]
fn a_fixed_window_admits_exactly_its_quota_to_parallel_callers() {
    let server = RedisServer::start();
    let mut client = server.connect();
    // 30 days, so that the window ends during the test once in years; then it is asked again
    let limit = Limit::fixed_window(quota(50, Quota::MAX_PERIOD));
    let window = |micros: u64| micros / Quota::MAX_PERIOD.as_micros() as u64;
    for keys in [1, 20] {
        let before = window(clock(&mut client));
        let admitted = hammer(&server, limit, keys, 100);
        let windows = 1 + window(clock(&mut client)) - before;
        assert_eq!(admitted.len() as u64, keys);
        assert!(admitted.values().all(|count| (50..=50 * windows).contains(count)), "{admitted:?}");
    }
}

#[test]
fn a_token_bucket_admits_exactly_its_burst_to_parallel_callers_and_what_refilled() {
    let server = RedisServer::start();
    let mut client = server.connect();
    // one each 100 ms: on a busy machine a few come back while the test runs
    let limit = Limit::token_bucket(quota(10, Duration::from_secs(1)), 50).expect("in range");
    for keys in [1, 20] {
        let before = clock(&mut client);
        let admitted = hammer(&server, limit, keys, 100);
        let refilled = (clock(&mut client) - before) / 100_000;
        assert_eq!(admitted.len() as u64, keys);
        assert!(admitted.values().all(|count| (50..=50 + refilled).contains(count)), "{admitted:?}, {refilled}");
    }
}

#[test]
fn what_frees_nothing_meanwhile_admits_exactly_its_capacity() {
    let server = RedisServer::start();
    let slow = quota(1, Quota::MAX_PERIOD);
    for limit in [
        Limit::token_bucket(slow, 50).expect("in range"),
        Limit::leaky_bucket(slow, 50).expect("in range"),
        Limit::sliding_log(quota(50, Quota::MAX_PERIOD)).expect("in range"),
        // its windows begin with the first request
        Limit::sliding_window(quota(50, Quota::MAX_PERIOD)),
    ] {
        for keys in [1, 20] {
            let admitted = hammer(&server, limit, keys, 100);
            assert!(admitted.len() as u64 == keys && admitted.values().all(|count| *count == 50), "{admitted:?}");
        }
    }
}

#[test]
fn every_key_that_parallel_callers_made_has_a_time_to_live() {
    let server = RedisServer::start();
    for limit in variants(50, Duration::from_secs(3600)) {
        hammer(&server, limit, 100, 50);
    }
    let mut client = server.connect();
    let keys: Vec<Vec<u8>> = redis::cmd("KEYS").arg("*").query(&mut client.connection).expect("KEYS");
    assert!(keys.len() >= 100);
    for key in keys {
        let ttl: i64 = redis::cmd("PTTL").arg(&key).query(&mut client.connection).expect("PTTL");
        assert!(ttl > 0, "{} has {ttl}", String::from_utf8_lossy(&key));
    }
}
