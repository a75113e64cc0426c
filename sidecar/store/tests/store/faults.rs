//! Redis that is frozen, killed, late, full, a replica, or whose answers are lost.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use weir_store::{BreakerState, Reason, Store, StoreStatus};

use crate::network::{Middle, SilentHost};
use crate::server::{Server, free_port};
use crate::subject::{check, patient, prompt, until, until_decided, until_refused_by_store, window};

/// The promise is 50 ms; ten times the room, for a busy machine.
const WAIT: Duration = Duration::from_millis(500);
/// A probe is due after at most 500 ms; the promise is 2 s, and a busy machine gets some more.
const BACK: Duration = Duration::from_secs(5);

/// Asks until the breaker is open, each decision within the bound, then asks much more, which must cost next to nothing.
async fn assert_waits_end_and_then_vanish(store: &Store) {
    let start = Instant::now();
    loop {
        let asked = Instant::now();
        let error = store.decide(&[check("a", window(1_000_000))]).await.unwrap_err();
        assert!(asked.elapsed() < WAIT, "{error} after {:?}", asked.elapsed());
        if error.kind() == Reason::BreakerOpen {
            break;
        }
        assert!(start.elapsed() < BACK, "the breaker never opens: {error}");
    }
    let asked = Instant::now();
    for _ in 0..1000 {
        assert!(store.decide(&[check("a", window(1_000_000))]).await.is_err());
    }
    // microseconds each; a millisecond is room enough
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_redis_costs_bounded_waits_then_none_and_limits_hold_soon_after() {
    let server = Server::start();
    let store = prompt(&server.url());
    until_decided(&store).await;
    for _ in 0..2 {
        server.freeze();
        assert_waits_end_and_then_vanish(&store).await;
        assert!(matches!(store.status(), StoreStatus::Failing(_)), "{:?}", store.status());
        server.thaw();
        let _: () = server.ask(&["PING"]);
        let back = until_decided(&store).await;
        println!("decided again {back:?} after the first PONG");
        assert!(back < BACK, "{back:?}");
        until("the breaker closes", || store.breaker_state() == BreakerState::Closed).await;
        until("the status says so", || store.status() == StoreStatus::Connected).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_redis_costs_no_waits_and_limits_hold_soon_after_its_restart() {
    let mut server = Server::start();
    let store = prompt(&server.url());
    until_decided(&store).await;
    server.kill();
    assert_waits_end_and_then_vanish(&store).await;
    assert_eq!(store.status(), StoreStatus::Failing(Reason::Unreachable));
    server.resume();
    let _: () = server.ask(&["PING"]);
    let back = until_decided(&store).await;
    println!("decided again {back:?} after the first PONG");
    assert!(back < BACK, "{back:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_opens_before_redis_does_and_connects_by_itself() {
    let mut server = Server::planned(&[]);
    let store = prompt(&server.url());
    assert_waits_end_and_then_vanish(&store).await;
    server.resume();
    until("it connects without being asked", || store.status() == StoreStatus::Connected).await;
    until_decided(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_never_answers_costs_bounded_waits_then_none() {
    let host = SilentHost::start();
    assert_waits_end_and_then_vanish(&prompt(&host.url())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_does_not_resolve_is_unreachable() {
    let store = prompt("redis://weir-redis.invalid:6379");
    until("it fails", || matches!(store.status(), StoreStatus::Failing(Reason::Unreachable | Reason::Timeout))).await;
    let error = until_refused_by_store(&store, |_| true).await;
    assert!(matches!(error.kind(), Reason::Unreachable | Reason::Timeout | Reason::BreakerOpen), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_arrives_while_redis_is_frozen_is_charged_at_most_once_and_nothing_later() {
    const QUOTA: u64 = 1_000_000;
    let server = Server::start();
    let store = prompt(&server.url());
    until_decided(&store).await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        callers.spawn(async move {
            // charged for sure, and charged perhaps
            let (mut admitted, mut lost) = (0, 0);
            for _ in 0..300 {
                match store.decide(&[check("counted", window(QUOTA))]).await {
                    Ok(decision) => admitted += u64::from(decision.admitted),
                    Err(error) if matches!(error.kind(), Reason::Timeout | Reason::Unreachable) => lost += 1,
                    Err(_) => tokio::time::sleep(Duration::from_millis(2)).await,
                }
            }
            (admitted, lost)
        });
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        server.freeze();
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.thaw();
    }
    let all = callers.join_all().await;
    let admitted: u64 = all.iter().map(|caller| caller.0).sum();
    let lost: u64 = all.iter().map(|caller| caller.1).sum();
    until_decided(&store).await;
    let judge = patient(&server.url());
    let left = judge.decide(&[check("counted", window(QUOTA))]).await.unwrap().outcomes[0].remaining;
    let charged = QUOTA - left - 1;
    assert!(admitted <= charged && charged <= admitted + lost, "{admitted} ≤ {charged} ≤ {admitted} + {lost}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_whose_reply_is_lost_is_never_sent_again() {
    let server = Server::start();
    let middle = Middle::start(server.port());
    let store = patient(&format!("redis://127.0.0.1:{}", middle.port));
    assert_eq!(store.decide(&[check("a", window(100))]).await.unwrap().outcomes[0].remaining, 99);
    middle.swallow.store(true, SeqCst);
    let error = store.decide(&[check("a", window(100))]).await.unwrap_err();
    assert_eq!(error.kind(), Reason::Unreachable, "{error}");
    middle.swallow.store(false, SeqCst);
    until_decided(&store).await;
    // one for the first, one for the lost one, one for this
    assert_eq!(store.decide(&[check("a", window(100))]).await.unwrap().outcomes[0].remaining, 97);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_redis_is_named_and_opens_no_breaker() {
    let server = Server::start();
    let store = patient(&server.url());
    until_decided(&store).await;
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    for _ in 0..10 {
        assert_eq!(store.decide(&[check("a", window(10))]).await.unwrap_err().reason(), "oom");
    }
    assert_eq!(store.breaker_state(), BreakerState::Closed);
    until("the status says so", || store.status() == StoreStatus::Failing(Reason::Oom)).await;
    let _: () = server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    assert!(store.decide(&[check("a", window(10))]).await.unwrap().admitted);
    until("the status says so", || store.status() == StoreStatus::Connected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_that_became_a_replica_is_named_and_left_until_it_writes_again() {
    let server = Server::start();
    let store = prompt(&server.url());
    until_decided(&store).await;
    let _: () = server.ask(&["REPLICAOF", "127.0.0.1", &free_port().to_string()]);
    until_refused_by_store(&store, |error| error.kind() == Reason::Readonly).await;
    until_refused_by_store(&store, |error| error.kind() == Reason::BreakerOpen).await;
    let _: () = server.ask(&["REPLICAOF", "NO", "ONE"]);
    let back = until_decided(&store).await;
    println!("decided again {back:?} after the first PONG");
    assert!(back < BACK, "{back:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_wants_a_password_is_named() {
    let server = Server::with(&["--requirepass", "secret"]);
    let store = prompt(&server.url());
    until("noauth", || store.status() == StoreStatus::Failing(Reason::Noauth)).await;
    let right = prompt(&format!("redis://:secret@127.0.0.1:{}", server.port()));
    until_decided(&right).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_the_server_closed_while_idle_costs_no_decision() {
    let server = Server::start();
    let store = patient(&server.url());
    until_decided(&store).await;
    for _ in 0..5 {
        let _: i64 = server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
        until("it is connected again", || server.ask::<String>(&["CLIENT", "LIST"]).lines().count() == 2).await;
        assert!(store.decide(&[check("a", window(10))]).await.is_ok());
    }
}
