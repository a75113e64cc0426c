//! What a refund does to the keys of a real Redis.

use std::time::Duration;

use weir_limiter::{Batch, Check, Limit, Quota, Receipt};

use crate::histories::variants;
use crate::server::{Client, RedisServer};

const HOUR: Duration = Duration::from_secs(3600);

fn every_kind() -> Vec<Limit> {
    let quota = Quota::new(1_000, HOUR).expect("in range");
    let queue = Limit::leaky_queue(quota, Some(1_000), Limit::MAX_WAIT).expect("in range");
    variants(1_000, HOUR).into_iter().chain([queue]).collect()
}

fn charge(client: &mut Client, key: &str, limit: Limit, cost: u64) -> Receipt {
    let mut batch = Batch::new();
    batch.push(&[Check { key, limit, cost }]);
    let mut decision = client.decide(&batch).remove(0);
    decision.outcomes[0].receipt.take().expect("it was charged")
}

fn refund(client: &mut Client, key: &str, receipt: Receipt) -> bool {
    let mut batch = Batch::new();
    batch.push_refund(key, receipt);
    let reply = client.answer(&batch);
    assert!(reply.decisions.is_empty());
    reply.refunds[0]
}

fn pttl(client: &mut Client, key: &str) -> i64 {
    redis::cmd("PTTL").arg(key).query(&mut client.connection).expect("PTTL")
}

#[test]
fn a_refund_never_makes_a_key_nor_lets_one_live_longer() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for (number, limit) in every_kind().into_iter().enumerate() {
        let key = format!("{number} {}", limit.algorithm().name());
        let gone = charge(&mut client, &key, limit, 3);
        redis::cmd("DEL").arg(&key).exec(&mut client.connection).expect("DEL");
        assert!(!refund(&mut client, &key, gone), "{key}");
        assert_eq!(pttl(&mut client, &key), -2, "{key}");

        let (first, last) = (charge(&mut client, &key, limit, 3), charge(&mut client, &key, limit, 500));
        let before = pttl(&mut client, &key);
        assert!(refund(&mut client, &key, last), "{key}");
        let after = pttl(&mut client, &key);
        assert!(0 < after && after <= before, "{key}: {before} ms, then {after} ms");
        // by now it is the last; of a bucket some may have refilled, but not 3·P/N = 11 s
        assert!(refund(&mut client, &key, first), "{key}");
        let after = pttl(&mut client, &key);
        assert!(0 < after && after <= before, "{key}: {before} ms, then {after} ms");
    }
}

#[test]
fn a_receipt_of_another_kind_of_state_gives_nothing_back() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for (i, first) in every_kind().into_iter().enumerate() {
        for (j, second) in every_kind().into_iter().enumerate() {
            if first.algorithm() == second.algorithm() {
                continue;
            }
            let key = format!("{i} {j}");
            let receipt = charge(&mut client, &key, first, 3);
            charge(&mut client, &key, second, 3);
            let value = |client: &mut Client| -> Vec<u8> {
                redis::cmd("GET").arg(&key).query(&mut client.connection).expect("GET")
            };
            let before = value(&mut client);
            assert!(!refund(&mut client, &key, receipt), "{key}");
            assert_eq!(value(&mut client), before, "{key}");
        }
    }
}

#[test]
fn refunds_and_requests_of_one_call_are_answered_in_their_order() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let limit = Limit::fixed_window(Quota::new(1, Quota::MAX_PERIOD).expect("in range"));
    let check = [Check { key: "k", limit, cost: 1 }];
    // the window ends during the test once in years
    let receipt = charge(&mut client, "k", limit, 1);
    let mut batch = Batch::new();
    batch.push(&check);
    batch.push_refund("k", receipt);
    batch.push(&check);
    batch.push(&check);
    assert_eq!((batch.len(), batch.distinct_keys()), (4, 1));
    let reply = client.answer(&batch);
    let admitted: Vec<_> = reply.decisions.iter().map(|decision| decision.admitted).collect();
    assert_eq!((admitted, reply.refunds), (vec![false, true, false], vec![true]));
}
