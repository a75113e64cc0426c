//! A limit of N is N however many pods run, and the client is told the truth about what is left.
use crate::app::{App, Namespace};
use crate::wait::{HOUR, enough_is_left, until};
use crate::world::turn;
use std::time::Duration;

fn two_replicas() -> App {
    App { replicas: 2, ..App::default() }
}

fn policy(algorithm: &str, burst: &str) -> String {
    format!(
        "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {{name: per-tenant}}
spec:
  # A decision that a busy machine could not make in time is then a 503, and never one admitted too many.
  onStoreFailure: Deny
  limits:
  - name: hourly
    keys: [{{header: {{name: x-tenant}}}}]
    algorithm: {algorithm}
    rate: {{requests: 20, period: 1h}}
    {burst}
"
    )
}

#[test]
fn twenty_an_hour_is_twenty_over_two_replicas() {
    let world = turn();
    for (algorithm, burst) in [("FixedWindow", ""), ("TokenBucket", "burst: 20")] {
        let namespace = Namespace::new(&world, "exact", "");
        let app = two_replicas();
        namespace.deploy(&app);
        namespace.apply(&policy(algorithm, burst));
        let condition = namespace.condition("per-tenant", "Enforced", "True");
        assert!(condition["message"].as_str().is_some_and(|m| m.contains("2/2")), "{condition}");
        let url = namespace.service_url(&app, "/things");

        enough_is_left(HOUR, Duration::from_secs(60));
        let report = world.load(&[&url, "-n", "200", "-c", "16", "-H", "x-tenant: a"]);
        assert_eq!(report.failed(), 0, "{report:#?}");
        // A lost reply may have charged; each is a 503, and none is admitted.
        let lost = report.count(503);
        assert_eq!(report.count(200) + report.count(429) + lost, 200, "{report:#?}");
        // The clock outside counts all that could have been refilled: one token each 180 s.
        let refilled = if algorithm == "TokenBucket" { report.micros / 180_000_000 + 1 } else { 0 };
        assert!(
            report.count(200) <= 20 + refilled && report.count(200) + lost >= 20,
            "{algorithm}: {} of 200 were admitted and {lost} lost, the law allows 20 to {}",
            report.count(200),
            20 + refilled
        );
        let refusal = &report.first[&429];
        let says = |start: &str| refusal.headers.iter().any(|h| h.starts_with(start));
        assert!(
            says("retry-after: ") && says("x-ratelimit-limit: 20") && says("x-ratelimit-remaining: 0"),
            "{refusal:#?}"
        );
        assert!(refusal.body.contains("quota-exceeded"), "{refusal:#?}");

        let other = world.load(&[&url, "-n", "20", "-H", "x-tenant: b"]);
        assert_eq!(other.count(200) + other.count(503), 20, "another key has its own twenty: {other:#?}");
        if algorithm == "FixedWindow" {
            assert!(other.remaining.is_sorted_by(|a, b| a > b), "remaining counts down: {other:#?}");
            if other.count(503) == 0 {
                assert_eq!(other.remaining, (0..20).rev().collect::<Vec<_>>(), "one by one");
            }
        }
    }
}

#[test]
fn no_key_in_redis_is_without_a_time_to_live() {
    let world = turn();
    let namespace = Namespace::new(&world, "ttl", "");
    let app = two_replicas();
    namespace.deploy(&app);
    namespace.apply(&policy("TokenBucket", "burst: 20"));
    namespace.condition("per-tenant", "Enforced", "True");
    for tenant in 0..5 {
        world.load(&[&namespace.service_url(&app, "/"), "-n", "3", "-H", &format!("x-tenant: t{tenant}")]);
    }
    let pattern = format!("weir:{{{}}}:*", namespace.name);
    let keys = world.redis(&["--scan", "--pattern", &pattern]).expect("redis-cli runs");
    assert!(keys.lines().count() >= 5, "five tenants have state: {keys}");
    for key in keys.lines() {
        let ttl: i64 = world.redis(&["pttl", key]).expect("redis-cli runs").trim().parse().expect("PTTL is a number");
        // -2: gone between the scan and this look.
        assert!(ttl > 0 || ttl == -2, "{key} has no time to live: {ttl}");
    }
}

#[test]
fn a_retry_at_retry_after_passes() {
    let world = turn();
    let namespace = Namespace::new(&world, "retry", "");
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(
        "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: slow}
spec:
  limits:
  - {name: all, algorithm: TokenBucket, rate: {requests: 20, period: 1m}, burst: 2}
",
    );
    namespace.condition("slow", "Enforced", "True");
    let url = namespace.service_url(&app, "/");
    // a decision that takes more than 50 ms on a busy machine lets its request pass, uncounted
    let report = until("the burst is spent", || {
        let report = world.load(&[&url, "-n", "6"]);
        if report.count(429) >= 1 { Ok(report) } else { Err(report) }
    });
    let sample = &report.first[&429];
    let wait: u64 = sample
        .headers
        .iter()
        .find_map(|h| h.strip_prefix("retry-after: "))
        .and_then(|v| v.parse().ok())
        .expect("a refusal says when to come back");
    assert!((1..=3).contains(&wait), "a token comes each 3 s: {wait}");
    std::thread::sleep(Duration::from_secs(wait));
    let retried = world.load(&[&url, "-n", "1"]);
    assert_eq!(retried.count(200), 1, "{retried:#?}");
}
