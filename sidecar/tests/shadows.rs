//! Limits that only count, through real sidecars.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, enough_of_the_hour, policy};
use super::redis::Redis;
use super::sidecar::{PATIENCE, Sidecar};
use std::time::{Duration, Instant};

/// How often a limit, `namespace/policy/limit`, came to this outcome, at these sidecars together.
async fn told(sidecars: &[&Sidecar], limit: &str, outcome: &str) -> u64 {
    let (policy, limit) = limit.rsplit_once('/').unwrap();
    let start = format!(r#"weir_decisions_total{{policy="{policy}",limit="{limit}",outcome="{outcome}"}} "#);
    let mut sum = 0;
    for sidecar in sidecars {
        let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
        let line = metrics.lines().find_map(|line| line.strip_prefix(&start));
        sum += line.unwrap_or_else(|| panic!("no {start}")).parse::<u64>().unwrap();
    }
    sum
}

/// Waits until a shadow limit has counted so many requests in all: it is asked beside them.
pub(crate) async fn counted(sidecars: &[&Sidecar], limit: &str, requests: u64) {
    let began = Instant::now();
    loop {
        let mut sum = 0;
        for outcome in ["admitted", "shadow_refused", "store_failed"] {
            sum += told(sidecars, limit, outcome).await;
        }
        if sum == requests {
            return;
        }
        assert!(sum < requests && began.elapsed() < PATIENCE, "{sum} of {requests}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_sidecars_share_a_shadow_and_count_what_was_admitted_by_both() {
    enough_of_the_hour().await;
    let limit = |name: &str, requests: u64, more: &str| {
        format!("  - {{name: {name}, algorithm: FixedWindow, rate: {{requests: {requests}, period: 1h}}{more}}}\n")
    };
    let limits = format!("{}{}", limit("real", 30, ""), limit("dry", 12, ", enforcement: Shadow"));
    let text = policy("api", &format!("  onStoreFailure: Deny\n  limits:\n{limits}"));
    let (app, file, redis) = (App::start().await, PolicyFile::new(&text), Redis::start());
    let flags = ["--policy", file.flag(), "--store", &redis.url(), "--namespace", "shop"];
    let (one, two) = (Sidecar::start(app.address, &flags), Sidecar::start(app.address, &flags));
    let mut connections = [Connection::to(one.listen), Connection::to(two.listen)];
    let mut statuses = Vec::new();
    for sent in 0..40 {
        let answer = connections[sent % 2].get("/", &[]).await.unwrap();
        assert!(answer.status != 429 || answer.json()["violated-policies"] == serde_json::json!(["api/real"]));
        statuses.push(answer.status);
    }
    let count = |status| statuses.iter().filter(|s| **s == status).count() as u64;
    // an answer of Redis that is lost on a busy machine is a 503, and may have charged
    assert!(count(200) <= 30 && count(200) + count(503) >= 30, "{statuses:?}");
    assert_eq!(app.served(), count(200));
    let both = [&one, &two];
    counted(&both, "shop/api/dry", count(200)).await;
    let (admitted, lost) =
        (told(&both, "shop/api/dry", "admitted").await, told(&both, "shop/api/dry", "store_failed").await);
    assert!(admitted <= 12 && admitted + lost >= 12, "{admitted} {lost}");
    assert_eq!(told(&both, "shop/api/dry", "refused").await, 0);
}

#[tokio::test]
async fn a_shadow_alone_passes_everything_and_says_nothing() {
    enough_of_the_hour().await;
    let text = policy(
        "api",
        "  enforcement: Shadow\n  onStoreFailure: Deny\n  limits: [{name: dry, algorithm: FixedWindow, rate: {requests: 3, period: 1h}}]\n",
    );
    let (app, file) = (App::start().await, PolicyFile::new(&text));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for _ in 0..10 {
        let answer = get(sidecar.listen, "/", &[]).await;
        assert_eq!((answer.status, answer.header("x-ratelimit-limit")), (200, None));
    }
    counted(&[&sidecar], "shop/api/dry", 10).await;
    assert_eq!(told(&[&sidecar], "shop/api/dry", "shadow_refused").await, 7);
}
