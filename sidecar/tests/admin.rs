//! The admin interface as the kubelet, Prometheus and a person with a port-forward use it.
use super::app::App;
use super::client::{ask, get, raw};
use super::policies::{PolicyFile, per_user};
use super::sidecar::Sidecar;
use hyper::Method;
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[tokio::test]
async fn health_and_metrics_are_on_the_pods_address_and_what_changes_things_is_not() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(0)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    for path in ["/live", "/ready", "/metrics"] {
        assert_eq!(get(sidecar.admin, path, &[]).await.status, 200, "{path}");
    }
    let metrics = get(sidecar.admin, "/metrics", &[]).await;
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for family in [
        "weir_decisions_total",
        "weir_decision_seconds",
        "weir_policy_generation",
        "weir_policy_reloads_total",
        "weir_store_breaker_state",
    ] {
        assert!(metrics.text().contains(&format!("# HELP {family} ")), "no {family}");
    }
    for path in ["/policy", "/drain", "/log-level", "/"] {
        assert_eq!(get(sidecar.admin, path, &[]).await.status, 404, "{path}");
    }
    assert_eq!(ask(Method::POST, sidecar.admin, "/ready", &[], "").await.status, 405);
}

#[tokio::test]
async fn the_local_half_shows_policies_without_keys_and_takes_a_log_level() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    get(sidecar.listen, "/", &[("x-user", "ann")]).await;
    let policy = get(sidecar.local, "/policy", &[]).await;
    assert_eq!(policy.json()["status"]["policies"][0]["running"]["limits"][0], "per-user");
    assert_eq!(policy.json()["store"]["status"], "connected");
    assert!(!policy.text().contains("ann"));
    let wrong = ask(Method::PUT, sidecar.local, "/log-level", &[], "loud").await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("error, warn, info"));
    assert_eq!(ask(Method::PUT, sidecar.local, "/log-level", &[], "debug").await.status, 200);
    assert_eq!(get(sidecar.local, "/drain", &[]).await.status, 405);
    assert_eq!(get(sidecar.admin, "/ready", &[]).await.status, 200);
}

#[tokio::test]
async fn a_web_page_cannot_use_the_local_half() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let from_a_page = ask(Method::POST, sidecar.local, "/drain", &[("origin", "http://evil.example")], "").await;
    assert_eq!(from_a_page.status, 403);
    let rebound = raw(sidecar.local, "GET /policy HTTP/1.1\r\nHost: evil.example\r\n\r\n").await;
    assert!(rebound.starts_with("HTTP/1.1 403 "), "{rebound}");
    assert_eq!(get(sidecar.admin, "/ready", &[]).await.status, 200);
}

#[tokio::test]
async fn a_probe_is_the_applications_verdict_and_no_limit_ever_sees_it() {
    let app = App::start().await;
    let file = PolicyFile::new(&super::policies::policy(
        "none",
        "  limits: [{name: all, algorithm: FixedWindow, rate: {requests: 0, period: 1h}}]\n",
    ));
    let probes = format!(
        r#"[{{"container":"app","kind":"liveness","http":{{"port":{},"path":"/healthz","httpHeaders":[{{"name":"Host","value":"shop.example"}}]}},"timeoutSeconds":1}}]"#,
        app.address.port()
    );
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag(), "--probes", &probes]);
    assert_eq!(get(sidecar.listen, "/healthz", &[]).await.status, 429);
    let probe = get(sidecar.admin, "/probe/app/liveness", &[("authorization", "secret"), ("cookie", "a=b")]).await;
    assert_eq!(probe.status, 200);
    let seen = app.headers.lock().unwrap().join("\n");
    assert!(seen.contains("host: shop.example"), "{seen}");
    assert!(!seen.contains("authorization") && !seen.contains("cookie"), "{seen}");
    app.unwell.store(true, Ordering::SeqCst);
    // the last verdict is reused for half a second
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(get(sidecar.admin, "/probe/app/liveness", &[]).await.status, 503);
    assert_eq!(get(sidecar.admin, "/probe/app/readiness", &[]).await.status, 404);
    assert_eq!(get(sidecar.admin, "/probe/app", &[]).await.status, 404);
}

#[tokio::test]
async fn connections_that_say_nothing_keep_nobody_out() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(20)));
    let sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(sidecar.admin).unwrap()).collect();
    assert_eq!(get(sidecar.admin, "/live", &[]).await.status, 200);
    // each of them is closed: at once by a newer one, or when its time is over
    for mut stream in silent {
        stream.set_read_timeout(Some(super::sidecar::PATIENCE)).unwrap();
        assert_eq!(stream.read(&mut [0; 64]).unwrap_or(0), 0);
    }
}
