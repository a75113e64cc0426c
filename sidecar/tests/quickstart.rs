//! The first contact: one policy file, one command, a few requests.
use super::app::App;
use super::client::{Connection, ask, get, raw};
use super::policies::{PolicyFile, enough_of_the_hour, per_user, policy};
use super::sidecar::Sidecar;
use hyper::Method;
use std::time::Duration;

const QUICKSTART: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crds/examples/quickstart.yaml");

#[tokio::test]
async fn the_quickstart_counts_down_and_then_refuses_with_a_wait() {
    let app = App::start().await;
    let sidecar = Sidecar::start(app.address, &["--policy", QUICKSTART]);
    let began = std::time::Instant::now();
    let first = get(sidecar.listen, "/", &[]).await;
    assert_eq!(first.status, 200);
    assert_eq!(first.text(), "hello from the application\n");
    let limit = first.number("x-ratelimit-limit");
    let mut admitted = 1;
    let refused = loop {
        let answer = get(sidecar.listen, "/", &[]).await;
        if answer.status == 429 {
            break answer;
        }
        admitted += 1;
        assert_eq!(answer.status, 200);
    };
    // a bucket refills while the test runs
    let refilled = began.elapsed().as_secs() * limit / 60 + 1;
    assert!((limit..=limit + refilled).contains(&admitted), "{admitted} of {limit} and {refilled}");
    assert!(refused.number("retry-after") >= 1);
    assert_eq!(app.served(), admitted);
}

#[tokio::test]
async fn remaining_counts_down_one_by_one_and_a_refusal_says_all_there_is_to_know() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut connection = Connection::to(sidecar.listen);
    for left in (0..20).rev() {
        let answer = connection.get("/", &[("x-user", "ann")]).await.unwrap();
        assert_eq!((answer.status, answer.number("x-ratelimit-remaining")), (200, left));
        assert_eq!(answer.number("x-ratelimit-limit"), 20);
        assert!((1..=3600).contains(&answer.number("x-ratelimit-reset")));
    }
    let refused = connection.get("/", &[("x-user", "ann")]).await.unwrap();
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("content-type"), Some("application/problem+json"));
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    assert_eq!(refused.header("weir-error"), Some("limited"));
    assert_eq!((refused.number("x-ratelimit-limit"), refused.number("x-ratelimit-remaining")), (20, 0));
    let wait = refused.number("retry-after");
    assert!((1..=3600).contains(&wait));
    assert_eq!(refused.number("x-ratelimit-reset"), wait);
    let problem = refused.json();
    assert_eq!(problem["type"], "https://iana.org/assignments/http-problem-types#quota-exceeded");
    assert_eq!(problem["status"], 429);
    assert_eq!(problem["detail"], format!("shop/api/per-user: retry in {wait} s"));
    assert_eq!(problem["violated-policies"], serde_json::json!(["api/per-user"]));
    assert!(problem["title"].is_string());
    // another key is another count
    assert_eq!(connection.get("/", &[("x-user", "bob")]).await.unwrap().number("x-ratelimit-remaining"), 19);
    assert_eq!(app.served(), 21);
    sidecar.logs("refused").await;
    let line = sidecar.log().lines().find(|line| line.contains("refused")).unwrap().to_owned();
    for part in ["policy=api", "limit=per-user", "key=", "wait="] {
        assert!(line.contains(part), "no {part} in {line}");
    }
    assert!(!sidecar.log().contains("ann"), "a client's key value is in the log");
}

#[tokio::test]
async fn a_retry_after_the_wait_passes() {
    let short = policy("api", "  limits: [{name: all, algorithm: FixedWindow, rate: {requests: 1, period: 2s}}]\n");
    let (app, file) = (App::start().await, PolicyFile::new(&short));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut connection = Connection::to(sidecar.listen);
    let refused = loop {
        let answer = connection.get("/", &[]).await.unwrap();
        if answer.status == 429 {
            break answer;
        }
    };
    tokio::time::sleep(Duration::from_secs(refused.number("retry-after"))).await;
    assert_eq!(connection.get("/", &[]).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_refused_head_request_has_the_headers_and_no_body() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(0)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let answer = raw(sidecar.listen, "HEAD / HTTP/1.1\r\nHost: a\r\nx-user: ann\r\nConnection: close\r\n\r\n").await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 429 "), "{head}");
    assert!(head.to_lowercase().contains("x-ratelimit-limit: 0"), "{head}");
    assert_eq!(body, "");
}

#[tokio::test]
async fn a_limit_that_never_lets_pass_names_no_time_to_retry() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(0)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let refused = get(sidecar.listen, "/", &[("x-user", "ann")]).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), None);
    assert!(refused.number("x-ratelimit-reset") >= 1);
    assert_eq!(refused.json()["detail"], "shop/api/per-user: this limit never lets such a request pass");
}

#[tokio::test]
async fn the_applications_own_limit_headers_keep_ours_out() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let answer = get(sidecar.listen, "/own-limit", &[("x-user", "ann")]).await;
    assert_eq!(answer.header("x-ratelimit-limit"), Some("7"));
    assert_eq!(answer.header("x-ratelimit-remaining"), None);
}

#[tokio::test]
async fn of_two_policies_all_limits_count_and_a_refused_request_is_charged_to_none() {
    enough_of_the_hour().await;
    let wide = policy("wide", "  limits: [{name: all, algorithm: FixedWindow, rate: {requests: 100, period: 1h}}]\n");
    let (app, file) = (App::start().await, PolicyFile::new(&format!("{wide}---\n{}", per_user(2))));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let mut connection = Connection::to(sidecar.listen);
    let mut told = Vec::new();
    for _ in 0..5 {
        told.push(connection.get("/", &[("x-user", "ann")]).await.unwrap().status);
    }
    assert_eq!(told, [200, 200, 429, 429, 429]);
    // the tighter one is told: 99 or so of 100 is more than 1 of 2
    let bob = connection.get("/", &[("x-user", "bob")]).await.unwrap();
    assert_eq!((bob.number("x-ratelimit-limit"), bob.number("x-ratelimit-remaining")), (2, 1));
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    for line in [
        r#"weir_decisions_total{policy="shop/wide",limit="all",outcome="admitted"} 3"#,
        r#"weir_decisions_total{policy="shop/wide",limit="all",outcome="refused"} 0"#,
        r#"weir_decisions_total{policy="shop/api",limit="per-user",outcome="refused"} 3"#,
    ] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }
}

#[tokio::test]
async fn a_missing_key_that_is_denied_and_an_ambiguous_one_are_400_naming_the_header() {
    let spec = "  limits:\n  - name: per-user\n    algorithm: FixedWindow\n    rate: {requests: 5, period: 1h}\n    keys: [{header: {name: x-user}}]\n    onMissingKey: Deny\n";
    let (app, file) = (App::start().await, PolicyFile::new(&policy("api", spec)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for headers in [&[][..], &[("x-user", "ann"), ("x-user", "bob")]] {
        let refused = ask(Method::GET, sidecar.listen, "/", headers, "").await;
        assert_eq!((refused.status, refused.header("weir-error")), (400, Some("malformed")), "{headers:?}");
        assert!(refused.json()["detail"].as_str().unwrap().contains("header x-user"), "{}", refused.text());
    }
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    for outcome in ["missing_key", "key_ambiguous"] {
        let line = format!(r#"weir_decisions_total{{policy="shop/api",limit="per-user",outcome="{outcome}"}} 1"#);
        assert!(metrics.contains(&line), "no {line} in {metrics}");
    }
    assert_eq!(app.served(), 0);
}

#[tokio::test]
async fn a_key_cannot_be_taken_away_by_calling_it_a_header_of_the_hop() {
    enough_of_the_hour().await;
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for connection in ["x-user, close", "close, X-User"] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nx-user: ann\r\nConnection: {connection}\r\n\r\n");
        assert!(raw(sidecar.listen, &request).await.starts_with("HTTP/1.1 200 "));
    }
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.number("x-ratelimit-remaining"), 17);
}
