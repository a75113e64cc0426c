//! Two sidecars that share one Redis count as one.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, hourly, policy};
use super::redis::Redis;
use super::sidecar::Sidecar;
use std::net::SocketAddr;
use std::time::Instant;

/// What came of 200 requests over 16 connections, half of them to each sidecar.
struct Told {
    admitted: u64,
    /// Answered 503: the store's answer did not come within its 50 ms, as may be on a busy machine. It may have charged.
    undecided: u64,
}

async fn send(listeners: [SocketAddr; 2], user: &'static str) -> Told {
    let clients: Vec<_> = (0..16)
        .map(|client| {
            let mut connection = Connection::to(listeners[client % 2]);
            // 8 clients send 13 and 8 send 12
            let requests = if client < 8 { 13 } else { 12 };
            tokio::spawn(async move {
                let mut told = Told { admitted: 0, undecided: 0 };
                for _ in 0..requests {
                    match connection.get("/", &[("x-user", user)]).await.unwrap().status {
                        200 => told.admitted += 1,
                        503 => told.undecided += 1,
                        429 => {}
                        other => panic!("answered {other}"),
                    }
                }
                told
            })
        })
        .collect();
    let mut sum = Told { admitted: 0, undecided: 0 };
    for client in clients {
        let told = client.await.unwrap();
        sum.admitted += told.admitted;
        sum.undecided += told.undecided;
    }
    sum
}

impl Told {
    /// `quota` were admitted, less only where an answer was lost; `more` may be.
    fn is_exactly(&self, quota: u64, more: u64) {
        let (admitted, undecided) = (self.admitted, self.undecided);
        let right = admitted <= quota + more && admitted + undecided >= quota;
        assert!(right, "{admitted} admitted and {undecided} undecided of {quota} and {more}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_the_quota_is_admitted_by_both_together() {
    enough_of_the_hour().await;
    let hourly = policy("api", &hourly(20, "  onStoreFailure: Deny\n"));
    let (app, file, redis) = (App::start().await, PolicyFile::new(&hourly), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let (one, two) = (Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags));
    let told = send([one.listen, two.listen], "ann").await;
    told.is_exactly(20, 0);
    assert_eq!(app.served(), told.admitted);
    // another key is untouched
    let bob = get(two.listen, "/", &[("x-user", "bob")]).await;
    assert!(bob.status == 503 || bob.number("x-ratelimit-remaining") == 19, "{bob:?}");
    // as `db0:keys=2,expires=2,…`
    let space = redis.command("INFO keyspace");
    let number = |name: &str| space.split_once(name).and_then(|(_, rest)| rest.split(',').next()).unwrap_or_default();
    assert!(!number("keys=").is_empty() && number("keys=") == number("expires="), "a key has no end: {space}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_admits_its_burst_and_what_refilled_meanwhile() {
    let bucket = policy(
        "api",
        "  onStoreFailure: Deny\n  limits:\n  - {name: all, algorithm: TokenBucket, rate: {requests: 20, period: 1h}, burst: 20, keys: [{header: {name: x-user}}]}\n",
    );
    let (app, file, redis) = (App::start().await, PolicyFile::new(&bucket), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let (one, two) = (Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags));
    let began = Instant::now();
    let told = send([one.listen, two.listen], "ann").await;
    // one each 180 s
    told.is_exactly(20, began.elapsed().as_secs() / 180 + 1);
}
