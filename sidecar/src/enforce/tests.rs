//! Rulings, and the choice of the limit that a client is told about.
use super::*;
use http::{Request, StatusCode};
use serde_json::{Value, json};
use std::time::Duration;
use weir_limiter::{Outcome, Verdict};
use weir_policy::{Identity, Policy, PolicyEntry};
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
    policy
        .limits
        .iter()
        .map(|limit| LimitCheck { policy, limit, applied: limit.limit, identity: Identity::default(), cost: 1 })
        .collect()
}

fn outcome(verdict: Verdict, remaining: u64, reset_millis: u64) -> Outcome {
    let reset = Duration::from_millis(reset_millis);
    Outcome { verdict, remaining, reset, more: Some(reset / 2), delay: Duration::ZERO, receipt: None }
}

async fn enforcer(store: &str, policies: Vec<Policy>) -> Enforcer {
    let metrics = Arc::new(Metrics::new(|_| {}));
    let store = Store::open(Some(store), Credentials::None, metrics.store.clone()).unwrap();
    let enforcer = Enforcer::new(store, metrics, 1000);
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
    enforcer.rule(&parts, false, PEER).await
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
fn a_refusal_waits_a_second_at_least() {
    let policy = policy("api", json!({"limits": [window("a", 5)]}));
    let checks = checks(&policy);
    for (micros, told) in [(1, 1_000_000), (106_000, 1_000_000), (1_000_001, 1_000_001), (59_999_999, 59_999_999)] {
        let outcomes = [outcome(Verdict::Wait(Duration::from_micros(micros)), 0, 0)];
        let refusing = numbers::refusing(&checks, &outcomes);
        assert_eq!(refusing[0].retry_after(), Some(Duration::from_micros(told)), "{micros} µs");
        let standing = refusing[0].standing();
        assert_eq!((standing.limit, standing.remaining, standing.least), (5, 0, Duration::from_secs(1)));
        assert_eq!(standing.more, refusing[0].retry_after());
    }
    let never = [outcome(Verdict::Never, 0, 0)];
    assert_eq!(numbers::refusing(&checks, &never)[0].standing().more, None);
}

#[test]
fn admitted_is_told_the_limit_with_the_smallest_share_left() {
    let policy = policy("api", json!({"limits": [window("a", 1000), window("b", 10), window("c", 10)]}));
    let checks = checks(&policy);
    let told = |left: [u64; 3]| {
        let outcomes = left.map(|left| outcome(Verdict::Pass, left, 1_500));
        let (check, standing) = numbers::tightest(&checks, &outcomes).unwrap();
        assert_eq!((standing.reset, standing.least), (Duration::from_millis(1_500), Duration::ZERO));
        (check.limit.name.as_str(), standing.limit, standing.remaining)
    };
    assert_eq!(told([500, 6, 7]), ("a", 1000, 500));
    assert_eq!(told([500, 4, 7]), ("b", 10, 4));
    // ties by name
    assert_eq!(told([600, 6, 6]), ("a", 1000, 600));
    assert!(numbers::tightest(&[], &[]).is_none());
}

#[test]
fn admitted_is_told_nothing_of_a_policy_that_sends_no_headers() {
    let silent = policy("a", json!({"response": {"headers": []}, "limits": [window("x", 10)]}));
    let telling = policy("b", json!({"response": {"headers": ["RateLimit"]}, "limits": [window("x", 10)]}));
    let both = [checks(&silent), checks(&telling)].concat();
    let outcomes = [1, 9].map(|left| outcome(Verdict::Pass, left, 1_500));
    assert_eq!(numbers::tightest(&both, &outcomes).unwrap().0.policy.id.name, "b");
    assert!(numbers::tightest(&both[..1], &outcomes[..1]).is_none());
}

#[tokio::test]
async fn a_request_that_no_limit_sees_has_no_headers_and_costs_nothing() {
    let spec = json!({"limits": [{"name": "a", "match": {"paths": [{"prefix": "/other"}]}, "algorithm": "FixedWindow",
        "rate": {"requests": 0, "period": "1h"}}]});
    let enforcer = enforcer("memory:", vec![policy("api", spec)]).await;
    assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(headers) if headers.is_none()));
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
    assert!(matches!(ruling(&allowing, &[]).await, Ruling::Admit(headers) if headers.is_none()));
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

/// The window with `Shadow`.
fn shadow(name: &str, requests: u64) -> Value {
    let mut limit = window(name, requests);
    limit["enforcement"] = json!("Shadow");
    limit
}

#[tokio::test]
async fn a_shadow_counts_what_is_admitted_and_refuses_nothing() {
    let limits = json!({"limits": [shadow("dry", 2), window("real", 4)]});
    let enforcer = enforcer("memory:", vec![policy("a", limits)]).await;
    for sent in 0..6 {
        match ruling(&enforcer, &[]).await {
            Ruling::Admit(headers) if sent < 4 => {
                let mut map = http::HeaderMap::new();
                headers.apply(&mut map);
                assert_eq!(
                    (&map["x-ratelimit-limit"], map["x-ratelimit-remaining"].to_str().unwrap()),
                    (&"4".parse().unwrap(), &*(3 - sent).to_string())
                );
            }
            Ruling::Refuse(response) if sent >= 4 => assert_eq!(response.headers()["x-ratelimit-limit"], "4"),
            other => panic!("{sent}: {other:?}"),
        }
    }
    enforcer.settled().await;
    let told = |outcome| counted(&enforcer, "a", "dry", outcome);
    assert_eq!(
        (told("admitted"), told("shadow_refused"), told("refused")),
        (2, 2, 0),
        "of the four that were admitted"
    );
    assert_eq!(counted(&enforcer, "a", "real", "shadow_refused"), 0);
}

#[tokio::test]
async fn shadows_count_each_for_itself_and_those_of_a_shadow_policy_all_do() {
    let all = json!({"enforcement": "Shadow", "limits": [window("one", 1), window("three", 3), window("none", 0)]});
    let enforcer = enforcer("memory:", vec![policy("a", all)]).await;
    for _ in 0..5 {
        assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(headers) if headers.is_none()));
    }
    enforcer.settled().await;
    let told = |limit| (counted(&enforcer, "a", limit, "admitted"), counted(&enforcer, "a", limit, "shadow_refused"));
    assert_eq!((told("one"), told("three"), told("none")), ((1, 4), (3, 2), (0, 5)));
}

#[tokio::test]
async fn what_a_shadow_cannot_count_passes_and_is_told() {
    let mut limit = shadow("x", 5);
    limit["keys"] = json!([{"header": {"name": "x-user"}}]);
    limit["onMissingKey"] = json!("Deny");
    let enforcer = enforcer("memory:", vec![policy("a", json!({"limits": [limit]}))]).await;
    for headers in [&[][..], &[("x-user", "a"), ("x-user", "b")], &[("x-user", "a")]] {
        assert!(matches!(ruling(&enforcer, headers).await, Ruling::Admit(_)), "{headers:?}");
    }
    enforcer.settled().await;
    let told = |outcome| counted(&enforcer, "a", "x", outcome);
    assert_eq!((told("missing_key"), told("key_ambiguous"), told("shadow_refused"), told("admitted")), (1, 1, 2, 1));
}

#[tokio::test]
async fn a_shadow_denies_nothing_while_the_store_is_away() {
    let deny = json!({"onStoreFailure": "Deny", "limits": [shadow("dry", 3)]});
    let away = "redis://127.0.0.1:1";
    let alone = enforcer(away, vec![policy("a", deny.clone())]).await;
    let beside = enforcer(away, vec![policy("a", deny), policy("b", json!({"limits": [window("y", 3)]}))]).await;
    for enforcer in [alone, beside] {
        assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(headers) if headers.is_none()));
        enforcer.settled().await;
        assert_eq!(counted(&enforcer, "a", "dry", "store_failed"), 1);
    }
}

#[tokio::test]
async fn the_status_of_a_refusal_is_the_policys_and_so_is_the_form_of_its_wait() {
    let response = json!({"status": 503, "retryAfterFormat": "HTTPDate", "resetFormat": "UnixSeconds",
        "headers": ["RateLimit", "XRateLimit"]});
    let enforcer =
        enforcer("memory:", vec![policy("a", json!({"response": response, "limits": [window("x", 1)]}))]).await;
    assert!(matches!(ruling(&enforcer, &[]).await, Ruling::Admit(_)));
    let before = clock::date();
    let Ruling::Refuse(response) = ruling(&enforcer, &[]).await else { panic!("admitted") };
    assert_eq!((response.status().as_u16(), response.headers()["weir-error"].as_bytes()), (503, &b"limited"[..]));
    let problem: Value = serde_json::from_slice(response.body()).unwrap();
    assert_eq!(problem["status"], 503);
    let retry = httpdate::parse_http_date(response.headers()["retry-after"].to_str().unwrap()).unwrap();
    assert!(retry.duration_since(before).unwrap() >= Duration::from_secs(1));
    let reset: u64 = response.headers()["x-ratelimit-reset"].to_str().unwrap().parse().unwrap();
    let retry = retry.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    // a fixed window: both are its end, told by two readings of the same clock
    assert!(reset.abs_diff(retry) <= 1, "{reset} {retry}");
    let left = response.headers()["ratelimit"].to_str().unwrap();
    assert!(left.starts_with("\"a/x\";r=0;t="), "{left}");
}

#[tokio::test]
async fn the_response_is_that_of_the_limit_that_is_reported() {
    let one = json!({"response": {"status": 420, "headers": []}, "limits": [window("x", 1)]});
    let never = json!({"response": {"status": 599}, "limits": [window("y", 0)]});
    let first = enforcer("memory:", vec![policy("a", one.clone())]).await;
    assert!(matches!(ruling(&first, &[]).await, Ruling::Admit(headers) if headers.is_none()));
    let Ruling::Refuse(response) = ruling(&first, &[]).await else { panic!("admitted") };
    assert_eq!((response.status().as_u16(), response.headers().contains_key("x-ratelimit-limit")), (420, false));
    assert!(response.headers().contains_key("retry-after"));
    // no end is the longest wait
    let both = enforcer("memory:", vec![policy("a", one), policy("b", never)]).await;
    let Ruling::Refuse(response) = ruling(&both, &[]).await else { panic!("admitted") };
    assert_eq!((response.status().as_u16(), response.headers().contains_key("x-ratelimit-limit")), (599, true));
    assert!(!response.headers().contains_key("retry-after"));
}
