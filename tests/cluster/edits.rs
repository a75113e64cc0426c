//! An edited limit is in force on every pod within a moment, and costs nobody a request.
use crate::app::{App, Namespace};
use crate::wait::{DAY, enough_is_left};
use crate::world::turn;
use std::time::Duration;

fn policy(requests: u64) -> String {
    format!(
        "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {{name: edited}}
spec:
  limits:
  - name: all
    keys: [{{header: {{name: x-tenant}}}}]
    algorithm: FixedWindow
    rate: {{requests: {requests}, period: 24h}}
"
    )
}

/// From kubectl's return to the first response of the slower pod that shows `value`.
fn in_force(namespace: &Namespace, urls: &[String], value: Option<&str>) -> Duration {
    let mut arguments = vec!["watch", "-H", "x-tenant: watcher", "--seconds", "10"];
    arguments.extend(urls.iter().map(String::as_str));
    if let Some(value) = value {
        arguments.extend(["--value", value]);
    }
    let said = namespace.world.echo(&arguments).unwrap_or_else(|e| panic!("{e}\n{}", namespace.get(&["rlp"])));
    Duration::from_secs_f64(said.trim().parse::<f64>().expect("watch prints milliseconds") / 1e3)
}

#[test]
fn a_hundred_edits_under_traffic_are_quick_and_cost_nothing() {
    const EDITS: u64 = 100;
    let world = turn();
    let namespace = Namespace::new(&world, "edits", "");
    let app = App { replicas: 2, ..App::default() };
    namespace.deploy(&app);
    namespace.apply(&policy(1_000_000));
    namespace.condition("edited", "Enforced", "True");
    let urls = namespace.pod_urls(&app, 8080, "/");
    let service = namespace.service_url(&app, "/");

    enough_is_left(DAY, Duration::from_secs(300));
    let counted = world.load(&[&service, "-n", "50", "-H", "x-tenant: counted"]);
    assert_eq!(counted.count(200), 50, "{counted:#?}");
    // A reply that a busy machine lost may or may not have charged; it passes, and claims nothing.
    let lost = 50 - counted.remaining.len() as u64;

    let traffic = world.start_load(&[
        &service,
        "-n",
        "1000000",
        "-c",
        "4",
        "--pause-ms",
        "5",
        "--seconds",
        "120",
        "-H",
        "x-tenant: traffic",
    ]);
    let mut took = Vec::new();
    for edit in 1..=EDITS {
        let requests = 1_000_000 + edit;
        namespace.apply(&policy(requests));
        took.push(in_force(&namespace, &urls, Some(&requests.to_string())));
    }
    took.sort();
    let at = |share: usize| took[(took.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!("edit in force on both pods: p50 {:.0} ms, p99 {:.0} ms, max {:.0} ms", at(50), at(99), at(100));
    assert!(took.iter().all(|t| *t <= Duration::from_secs(5)), "slowest edit: {:?}", took.last());

    // Same period, so what was counted stays counted.
    let counted = world.load(&[&service, "-n", "1", "-H", "x-tenant: counted"]);
    let kept = 1_000_000 + EDITS - 51;
    assert!(counted.remaining.iter().all(|left| (kept..=kept + lost).contains(left)), "{kept} + {lost}: {counted:#?}");

    namespace.kubectl(&["delete", "rlp", "edited"]);
    let gone = in_force(&namespace, &urls, None);
    println!("deleted policy gone from both pods: {:.0} ms", gone.as_secs_f64() * 1e3);
    assert!(gone <= Duration::from_secs(5), "{gone:?}");

    let report = traffic.stop();
    assert_eq!((report.failed(), report.count(200)), (0, report.statuses.values().sum()), "{report:#?}");
    assert_eq!(namespace.restarts(&app, "app") + namespace.restarts(&app, "weir-sidecar"), 0);
}
