//! Two sidecars that share one Redis count as one.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, per_user, policy};
use super::redis::Redis;
use super::sidecar::Sidecar;
use std::net::SocketAddr;
use std::time::Instant;

/// 200 requests over 16 connections, half of them to each sidecar; how many were admitted.
async fn admitted(listeners: [SocketAddr; 2], user: &'static str) -> u64 {
    let clients: Vec<_> = (0..16)
        .map(|client| {
            let mut connection = Connection::to(listeners[client % 2]);
            // 8 clients send 13 and 8 send 12
            let requests = if client < 8 { 13 } else { 12 };
            tokio::spawn(async move {
                let mut admitted = 0;
                for _ in 0..requests {
                    match connection.get("/", &[("x-user", user)]).await.unwrap().status {
                        200 => admitted += 1,
                        429 => {}
                        other => panic!("answered {other}"),
                    }
                }
                admitted
            })
        })
        .collect();
    let mut sum = 0;
    for client in clients {
        sum += client.await.unwrap();
    }
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_quota_is_admitted_by_both_together() {
    enough_of_the_hour().await;
    let (app, file, redis) = (App::start().await, PolicyFile::new(&per_user(20)), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let (one, two) = (Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags));
    assert_eq!(admitted([one.listen, two.listen], "ann").await, 20);
    // another key is untouched
    assert_eq!(get(two.listen, "/", &[("x-user", "bob")]).await.number("x-ratelimit-remaining"), 19);
    assert_eq!(app.served(), 21);
    assert_eq!(redis.command("DBSIZE"), ":2\r\n");
    assert!(redis.command("INFO keyspace").contains("keys=2,expires=2"), "a key has no end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_admits_its_burst_and_what_refilled_meanwhile() {
    let bucket = policy(
        "api",
        "  limits:\n  - {name: all, algorithm: TokenBucket, rate: {requests: 20, period: 1h}, burst: 20, keys: [{header: {name: x-user}}]}\n",
    );
    let (app, file, redis) = (App::start().await, PolicyFile::new(&bucket), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let (one, two) = (Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags));
    let began = Instant::now();
    let admitted = admitted([one.listen, two.listen], "ann").await;
    let refilled = began.elapsed().as_secs() / 180 + u64::from(began.elapsed().as_secs() % 180 == 179);
    assert!((20..=20 + refilled).contains(&admitted), "{admitted} admitted, {refilled} refilled");
}
