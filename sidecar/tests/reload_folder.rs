//! Policies in a mounted folder change while requests come: by the same swap of `..data` that the kubelet does.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{Mounted, enough_of_the_hour, entry};
use super::sidecar::{PATIENCE, Sidecar};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

fn start(app: &App, mounted: &Mounted) -> Sidecar {
    Sidecar::start(app.address, &["--policy", mounted.flag(), "--namespace", "shop"])
}

/// Until a request is decided under `limit`, or under none.
async fn until_limit(sidecar: &Sidecar, limit: Option<&str>) {
    let (began, mut connection) = (Instant::now(), Connection::to(sidecar.listen));
    loop {
        let answer = connection.get("/", &[("x-user", "watch")]).await.unwrap();
        if answer.header("x-ratelimit-limit") == limit {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "still {:?}", answer.header("x-ratelimit-limit"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_edits_under_traffic_fail_no_request_and_keep_the_counters() {
    enough_of_the_hour().await;
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    mounted.document(&[entry("api", 1, 100_000)]);
    let sidecar = start(&app, &mounted);
    for _ in 0..7 {
        get(sidecar.listen, "/", &[("x-user", "kept")]).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (mut connection, stop) = (Connection::to(sidecar.listen), stop.clone());
            tokio::spawn(async move {
                let mut answered = 0;
                while !stop.load(Ordering::Relaxed) {
                    let answer = connection.get("/", &[("x-user", "load")]).await.unwrap();
                    assert_eq!(answer.status, 200);
                    assert!(answer.number("x-ratelimit-limit") > 100_000 - 1);
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    for edit in 2..=101 {
        mounted.document(&[entry("api", edit, 100_000 + edit)]);
        until_limit(&sidecar, Some(&(100_000 + edit).to_string())).await;
    }
    stop.store(true, Ordering::Relaxed);
    for client in load {
        assert!(client.await.unwrap() > 0);
    }
    let kept = get(sidecar.listen, "/", &[("x-user", "kept")]).await;
    assert_eq!(kept.number("x-ratelimit-remaining"), 100_101 - 8);
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    assert!(metrics.contains(r#"weir_policy_generation{policy="shop/api"} 101"#), "{metrics}");
}

#[tokio::test]
async fn a_document_that_cannot_be_read_keeps_the_last_good_one() {
    enough_of_the_hour().await;
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    mounted.document(&[entry("api", 1, 5)]);
    let sidecar = start(&app, &mounted);
    mounted.swap(&[("v1", "{\"policies\": [{"), ("labels", "app=\"shop\"\n")]);
    sidecar.logs("the last good ones stay").await;
    until_limit(&sidecar, Some("5")).await;
    mounted.swap(&[("labels", "app=\"shop\"\n")]);
    sidecar.logs("is not there any more").await;
    until_limit(&sidecar, Some("5")).await;
    let policy = get(sidecar.local, "/policy", &[]).await.json();
    assert_eq!(policy["status"]["document"], json!({"kept": "is not there any more"}));
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    assert!(metrics.contains(r#"weir_policy_reloads_total{result="kept"} 2"#), "{metrics}");
}

#[tokio::test]
async fn a_bad_policy_keeps_its_last_good_version_and_the_others_go_on() {
    enough_of_the_hour().await;
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    mounted.document(&[entry("api", 1, 5)]);
    let sidecar = start(&app, &mounted);
    let mut bad = entry("api", 2, 6);
    bad["spec"]["limits"][0]["rate"]["period"] = json!("1x");
    mounted.document(&[bad, entry("zone", 1, 3)]);
    sidecar.logs("shop/api@1, shop/zone@1").await;
    let both = get(sidecar.listen, "/", &[("x-user", "ann")]).await;
    assert_eq!((both.number("x-ratelimit-limit"), both.number("x-ratelimit-remaining")), (3, 2));
    let policy = get(sidecar.local, "/policy", &[]).await.json();
    let api = &policy["status"]["policies"][0];
    assert_eq!(
        (&api["name"], &api["running"]["generation"], &api["rejected"]["generation"]),
        (&json!("api"), &json!(1), &json!(2))
    );
    assert!(api["rejected"]["faults"][0].as_str().unwrap().contains("spec.limits[0].rate.period"), "{api}");
    assert!(sidecar.log().contains("shop/api"), "{}", sidecar.log());
    let metrics = get(sidecar.admin, "/metrics", &[]).await.text();
    assert!(metrics.contains(r#"weir_policy_generation{policy="shop/api"} 1"#), "{metrics}");
}

#[tokio::test]
async fn an_empty_list_means_no_limits() {
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    mounted.document(&[entry("api", 1, 5)]);
    let sidecar = start(&app, &mounted);
    until_limit(&sidecar, Some("5")).await;
    mounted.document(&[]);
    until_limit(&sidecar, None).await;
    assert!(!get(sidecar.admin, "/metrics", &[]).await.text().contains("shop/api"));
}

#[tokio::test]
async fn labels_decide_which_policies_apply_and_may_change() {
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    let mut chosen = entry("api", 1, 5);
    chosen["spec"]["selector"] = json!({"matchLabels": {"app": "shop"}});
    let document = json!({ "policies": [chosen] }).to_string();
    mounted.swap(&[("v1", &document), ("labels", "app=\"other\"\n")]);
    let sidecar = start(&app, &mounted);
    assert_eq!(get(sidecar.listen, "/", &[("x-user", "ann")]).await.header("x-ratelimit-limit"), None);
    mounted.swap(&[("v1", &document), ("labels", "app=\"shop\"\n")]);
    until_limit(&sidecar, Some("5")).await;
}

#[tokio::test]
async fn without_a_document_it_turns_ready_after_a_while_and_says_so() {
    let (app, mut mounted) = (App::start().await, Mounted::empty());
    let began = Instant::now();
    let sidecar = start(&app, &mounted);
    assert!(began.elapsed().as_secs() >= 5);
    assert_eq!(get(sidecar.local, "/policy", &[]).await.json()["status"]["document"], "noDocument");
    assert_eq!(get(sidecar.listen, "/", &[]).await.status, 200);
    mounted.document(&[entry("api", 1, 5)]);
    until_limit(&sidecar, Some("5")).await;
}
