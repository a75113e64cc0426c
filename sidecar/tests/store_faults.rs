//! Redis comes late, goes away, comes back: each policy says what its requests get meanwhile.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{Mounted, PolicyFile, enough_of_the_hour, entry, hourly, policy};
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

#[tokio::test(flavor = "multi_thread")]
async fn credentials_that_are_mounted_late_are_taken_when_they_come() {
    enough_of_the_hour().await;
    let (app, file, redis) = (App::start().await, PolicyFile::new(&both()), Redis::start());
    let secret = tempfile::TempDir::new().unwrap();
    let folder = secret.path().to_str().unwrap();
    let sidecar =
        Sidecar::start(app.address, &["--policy", file.flag(), "--store-secret", folder, "--namespace", "shop"]);
    assert_eq!(get(sidecar.listen, "/closed", &[("x-user", "ann")]).await.status, 503);
    assert_eq!(get(sidecar.local, "/policy", &[]).await.json()["store"]["status"], "not_configured");
    std::fs::write(secret.path().join("url"), redis.url()).unwrap();
    until_limited(&sidecar).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sidecar_reports_what_it_enforces_before_it_is_ready_and_at_each_change() {
    let (app, redis, mut mounted) = (App::start().await, Redis::start(), Mounted::empty());
    mounted.document(&[entry("api", 3, 5)]);
    let url = redis.url();
    let flags = ["--policy", mounted.flag(), "--store", &url, "--namespace", "shop", "--pod-uid", "pod-1"];
    let _sidecar = Sidecar::start(app.address, &flags);
    let report = || redis.command("GET weir:{shop}:hb:pod-1");
    assert!(report().contains(r#"{"uid":"uid-api","generation":3}"#), "{}", report());
    let mut bad = entry("api", 4, 5);
    bad["spec"]["limits"][0]["rate"]["period"] = "1x".into();
    mounted.document(&[bad, entry("web", 1, 5)]);
    let began = Instant::now();
    while !report().contains(r#"{"uid":"uid-web","generation":1}"#) {
        assert!(began.elapsed() < PATIENCE, "{}", report());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let report = report();
    assert!(report.contains(r#"{"uid":"uid-api","generation":3}"#), "what is in force is the last good one: {report}");
    assert!(report.contains("rejected") && report.contains(r#""generation":4"#), "{report}");
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
