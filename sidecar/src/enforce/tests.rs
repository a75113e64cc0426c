//! Rulings, and the choice of the limit that a client is told about.
use super::*;
use crate::proxy::gate::Numbers;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use weir_limiter::{Outcome, Verdict};
use weir_policy::{Policy, PolicyEntry};
use weir_store::{Credentials, Namespace};

const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9));

fn policy(name: &str, spec: Value) -> Policy {
    let (namespace, uid) = ("shop".to_owned(), format!("uid-{name}"));
    weir_policy::compile(&PolicyEntry { namespace, name: name.to_owned(), uid, generation: 1, spec }).unwrap()
}

fn window(name: &str, requests: u64) -> Value {
    json!({"name": name, "algorithm": "FixedWindow", "rate": {"requests": requests, "period": "720h"}})
}

fn checks(policy: &Policy) -> Vec<LimitCheck<'_>> {
    policy.limits.iter().map(|limit| LimitCheck { policy, limit, identity: Vec::new() }).collect()
}

fn outcome(verdict: Verdict, remaining: u64, reset_millis: u64) -> Outcome {
    let reset = Duration::from_millis(reset_millis);
    Outcome { verdict, remaining, reset, delay: Duration::ZERO, receipt: None }
}

async fn enforcer(store: &str, policies: Vec<Policy>) -> Enforcer {
    let metrics = Arc::new(Metrics::new(|_| {}));
    let store = Store::open(Some(store), Credentials::None, metrics.store.clone()).unwrap();
    let enforcer = Enforcer::new(store, metrics);
    let namespace = Namespace::new("shop").unwrap();
    let running = |policy| Running { policy: Arc::new(policy), namespace: namespace.clone() };
    enforcer.swap(policies.into_iter().map(running).collect());
    enforcer
}

async fn ruling(enforcer: &Enforcer, headers: &[(&str, &str)]) -> Ruling {
    let mut request = Request::get("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).unwrap().into_parts();
    enforcer.rule(&parts, PEER).await
}

fn counted(enforcer: &Enforcer, policy: &str, limit: &str, outcome: &str) -> u64 {
    let start = format!(r#"weir_decisions_total{{policy="shop/{policy}",limit="{limit}",outcome="{outcome}"}} "#);
    let text = enforcer.metrics.encode();
    text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("no {start}")).parse().unwrap()
}

#[test]
fn the_longest_wait_is_reported_and_no_end_is_the_longest() {
    let policy = policy("api", json!({"limits": [window("a", 5), window("b", 5), window("c", 5), window("d", 0)]}));
    let checks = checks(&policy);
    let second = Verdict::Wait(Duration::from_secs(1));
    let minute = Verdict::Wait(Duration::from_secs(60));
    let names = |verdicts: [Verdict; 4]| -> Vec<String> {
        let outcomes = verdicts.map(|verdict| outcome(verdict, 0, 0));
        numbers::refusing(&checks, &outcomes).iter().map(|each| each.check.limit.name.clone()).collect()
    };
    assert_eq!(names([second, minute, Verdict::Pass, Verdict::Never]), ["d", "b", "a"]);
    // ties by name, whatever the order of the checks
    assert_eq!(names([minute, second, minute, Verdict::Pass]), ["a", "c", "b"]);
}

#[test]
fn waits_are_rounded_up_and_never_zero() {
    let policy = policy("api", json!({"limits": [window("a", 5)]}));
    let checks = checks(&policy);
    for (micros, seconds) in [(1, 1), (106_000, 1), (1_000_000, 1), (1_000_001, 2), (59_999_999, 60)] {
        let outcomes = [outcome(Verdict::Wait(Duration::from_micros(micros)), 0, 0)];
        let refusing = numbers::refusing(&checks, &outcomes);
        assert_eq!(refusing[0].retry_after(), Some(seconds), "{micros} µs");
        assert_eq!(refusing[0].numbers(), Numbers { limit: 5, remaining: 0, reset: 1 });
    }
}

#[test]
fn admitted_is_told_the_limit_with_the_smallest_share_left() {
    let policy = policy("api", json!({"limits": [window("a", 1000), window("b", 10), window("c", 10)]}));
    let checks = checks(&policy);
    let told = |left: [u64; 3]| {
        let outcomes = left.map(|left| outcome(Verdict::Pass, left, 1_500));
        numbers::tightest(&checks, &outcomes).unwrap()
    };
    assert_eq!(told([500, 6, 7]), Numbers { limit: 1000, remaining: 500, reset: 2 });
    assert_eq!(told([500, 4, 7]), Numbers { limit: 10, remaining: 4, reset: 2 });
    assert!(numbers::tightest(&[], &[]).is_none());
}

#[tokio::test]
async fn a_request_that_no_limit_sees_has_no_headers_and_costs_nothing() {
    let spec = json!({"limits": [{"name": "a", "match": {"paths": [{"prefix": "/other"}]}, "algorithm": "FixedWindow",
        "rate": {"requests": 0, "period": "1h"}}]});
    let enforcer = enforcer("memory:", vec![policy("api", spec)]).await;
    assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(headers) if headers == LimitHeaders::none()));
    assert_eq!(counted(&enforcer, "api", "a", "admitted"), 0);
}

#[tokio::test]
async fn a_refused_request_is_charged_to_no_limit_of_any_policy() {
    let enforcer = enforcer(
        "memory:",
        vec![policy("a", json!({"limits": [window("x", 3)]})), policy("b", json!({"limits": [window("y", 1)]}))],
    )
    .await;
    assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(_)));
    for _ in 0..5 {
        let Ruling::Refuse(response) = ruling(&enforcer, &[]).await else { panic!("admitted") };
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["x-ratelimit-limit"], "1");
    }
    assert_eq!((counted(&enforcer, "a", "x", "admitted"), counted(&enforcer, "a", "x", "refused")), (1, 0));
    assert_eq!(counted(&enforcer, "b", "y", "refused"), 5);
    // without b, two of a's three are still there
    let running = Running {
        policy: Arc::new(policy("a", json!({"limits": [window("x", 3)]}))),
        namespace: Namespace::new("shop").unwrap(),
    };
    enforcer.swap(vec![running]);
    let Ruling::Admit(headers) = ruling(&enforcer, &[]).await else { panic!("refused") };
    let mut map = http::HeaderMap::new();
    headers.apply(&mut map);
    assert_eq!(map["x-ratelimit-remaining"], "1");
    assert!(!enforcer.metrics.encode().contains("shop/b"), "a policy that is gone is still in the metrics");
}

#[tokio::test]
async fn a_store_that_is_away_denies_as_soon_as_one_policy_says_so() {
    // port 1 on loopback: nobody listens there
    let (allow, deny) =
        (json!({"limits": [window("x", 3)]}), json!({"onStoreFailure": "Deny", "limits": [window("y", 3)]}));
    let away = "redis://127.0.0.1:1";
    let allowing = enforcer(away, vec![policy("a", allow.clone())]).await;
    assert!(matches!(ruling(&allowing, &[]).await, Ruling::Admit(headers) if headers == LimitHeaders::none()));
    assert_eq!(counted(&allowing, "a", "x", "store_failed"), 1);
    let both = enforcer(away, vec![policy("a", allow), policy("b", deny)]).await;
    let Ruling::Refuse(response) = ruling(&both, &[]).await else { panic!("admitted") };
    assert_eq!(
        (response.status(), response.headers()["weir-error"].as_bytes()),
        (StatusCode::SERVICE_UNAVAILABLE, &b"store"[..])
    );
    assert!(!response.headers().contains_key("x-ratelimit-limit"));
}

#[tokio::test]
async fn a_request_that_cannot_be_counted_is_answered_and_counted_as_such() {
    let limit = |on_missing: &str| {
        json!({"limits": [{"name": "x", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1h"},
            "keys": [{"header": {"name": "x-user"}}], "onMissingKey": on_missing}]})
    };
    let denying = enforcer("memory:", vec![policy("a", limit("Deny"))]).await;
    let Ruling::Refuse(response) = ruling(&denying, &[]).await else { panic!("admitted") };
    assert_eq!((response.status().as_u16(), response.headers()["weir-error"].as_bytes()), (400, &b"malformed"[..]));
    let problem: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(problem["detail"], "shop/a/x: header x-user is missing; send it with a value");
    assert_eq!(counted(&denying, "a", "x", "missing_key"), 1);
    let Ruling::Refuse(response) = ruling(&denying, &[("x-user", "a"), ("x-user", "b")]).await else {
        panic!("admitted")
    };
    assert_eq!(response.status(), 400);
    assert_eq!(counted(&denying, "a", "x", "key_ambiguous"), 1);
    let skipping = enforcer("memory:", vec![policy("a", limit("Skip"))]).await;
    for _ in 0..3 {
        assert!(matches!(ruling(&skipping, &[]).await, Ruling::Admit(_)));
    }
    assert_eq!(counted(&skipping, "a", "x", "skipped"), 3);
}

#[tokio::test]
async fn a_header_that_a_limit_counts_by_is_read_in_both_spellings() {
    let spec = json!({"limits": [{"name": "x", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1h"},
        "keys": [{"header": {"name": "X-User"}}]}]});
    let enforcer = enforcer("memory:", vec![policy("a", spec)]).await;
    let reads = |name: &'static str| enforcer.reads(&HeaderName::from_static(name));
    assert!(reads("x-user") && reads("x_user"));
    assert!(!reads("x-tenant"));
}
