//! Redis comes late, goes away, comes back: each policy says what its requests get meanwhile.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, hourly, policy};
use super::redis::Redis;
use super::sidecar::{PATIENCE, Sidecar};
use std::time::{Duration, Instant};

/// Two policies: one for /open that lets pass, one for /closed that doesn't.
fn both() -> String {
    let for_path = |name: &str, more: &str, requests| {
        let spec = hourly(requests, more)
            .replace("  - name: per-user", &format!("  - name: per-user\n    match: {{paths: [{{prefix: /{name}}}]}}"));
        policy(name, &format!("{spec}\n"))
    };
    format!(
        "{}---\n{}",
        for_path("open", "  onStoreFailure: Allow\n", 1000),
        for_path("closed", "  onStoreFailure: Deny\n", 1000)
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_starts_before_redis_and_limits_once_it_is_there() {
    enough_of_the_hour().await;
    let (app, file, mut redis) = (App::start().await, PolicyFile::new(&both()), Redis::absent());
    let sidecar =
        Sidecar::start(app.address, &["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"]);
    assert_eq!(get(sidecar.admin, "/ready", &[]).await.status, 200);
    let passed = get(sidecar.listen, "/open", &[("x-user", "ann")]).await;
    assert_eq!((passed.status, passed.header("x-ratelimit-limit")), (200, None));
    let refused = get(sidecar.listen, "/closed", &[("x-user", "ann")]).await;
    assert_eq!((refused.status, refused.header("weir-error")), (503, Some("store")));
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    redis.come();
    until_limited(&sidecar).await;
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    assert!(!metrics.contains(r#"policy="shop/closed",limit="per-user",outcome="store_failed"} 0"#), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_killed_under_load_costs_an_allowing_policy_no_request_and_a_denying_one_a_503() {
    enough_of_the_hour().await;
    let (app, file, mut redis) = (App::start().await, PolicyFile::new(&both()), Redis::start());
    let sidecar =
        Sidecar::start(app.address, &["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"]);
    let load = |path: &'static str| {
        let mut connection = Connection::to(sidecar.listen);
        tokio::spawn(async move {
            let (began, mut told) = (Instant::now(), Vec::new());
            while began.elapsed() < Duration::from_millis(1500) {
                told.push(connection.get(path, &[("x-user", "load")]).await.map(|answer| answer.status));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            told
        })
    };
    let (open, closed) = (load("/open"), load("/closed"));
    tokio::time::sleep(Duration::from_millis(300)).await;
    redis.die();
    let (open, closed) = (open.await.unwrap(), closed.await.unwrap());
    assert!(open.iter().all(|told| *told == Ok(200)), "{open:?}");
    assert!(closed.iter().all(|told| *told == Ok(200) || *told == Ok(503)), "{closed:?}");
    assert!(closed.contains(&Ok(200)) && closed.contains(&Ok(503)), "{closed:?}");
    redis.come();
    until_limited(&sidecar).await;
}

/// Until a decision is the store's again: its headers are there.
async fn until_limited(sidecar: &Sidecar) {
    let began = Instant::now();
    loop {
        let answer = get(sidecar.listen, "/closed", &[("x-user", "later")]).await;
        if answer.status == 200 {
            assert!(answer.header("x-ratelimit-remaining").is_some());
            return;
        }
        assert!(began.elapsed() < PATIENCE, "still {}: {}", answer.status, sidecar.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
