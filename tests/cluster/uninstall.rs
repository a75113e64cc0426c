//! The release goes and comes back: policies, counters' keys and the CA stay where the chart says they do.
use crate::app::{App, Namespace};
use crate::wait::{DAY, enough_is_left, until};
use crate::world::{RELEASE_NAMESPACE, turn};
use std::time::Duration;

const POLICY: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: lasting}
spec:
  limits:
  - {name: all, algorithm: FixedWindow, rate: {requests: 1000, period: 24h}}
";

#[test]
fn an_upgrade_keeps_policies_counters_and_certificates() {
    let world = turn();
    let namespace = Namespace::new(&world, "upgrade", "");
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(POLICY);
    namespace.condition("lasting", "Enforced", "True");
    let url = namespace.service_url(&app, "/");
    enough_is_left(DAY, Duration::from_secs(180));
    let before = world.load(&[&url, "-n", "7"]);
    assert_eq!(before.count(200), 7, "{before:#?}");
    // A reply that a busy machine lost may or may not have charged; it passes, and claims nothing.
    let lost = 7 - before.remaining.len() as u64;
    let ca = || world.get(RELEASE_NAMESPACE, &["secret", "weir-webhook-ca"]).map(|s| s["data"].clone());
    let made = ca().expect("the operator made a CA");
    world.install();
    assert_eq!(made, ca().expect("the CA stays"));
    namespace.condition("lasting", "Enforced", "True");
    let report = world.load(&[&url, "-n", "1"]);
    let kept = report.remaining.iter().all(|left| (992..=992 + lost).contains(left));
    assert!(kept && report.count(200) == 1, "what was counted stays counted, {lost} unknown: {report:#?}");
    assert_eq!(namespace.restarts(&app, "weir-sidecar"), 0);
}

#[test]
fn after_uninstall_pods_start_serve_and_policies_stay() {
    let world = turn();
    let namespace = Namespace::new(&world, "uninstall", "");
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(POLICY);
    namespace.condition("lasting", "Enforced", "True");

    world.helm(&["uninstall", "weir", "-n", RELEASE_NAMESPACE, "--wait", "--timeout", "90s"]).expect("helm uninstalls");
    let checks = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let url = namespace.service_url(&app, "/");
        assert_eq!(world.load(&[&url, "-n", "20"]).count(200), 20, "Redis went with the chart; the policy says Allow");
        let late = App { name: "late", ..App::default() };
        namespace.deploy(&late);
        assert!(namespace.pods(&late)[0]["spec"]["initContainers"].is_null(), "nobody injects any more");
        let kept = namespace.kubectl(&["get", "rlp", "-o", "name"]);
        assert!(kept.contains("lasting"), "policies stay: {kept}");
    }));
    world.install();
    checks.expect("pods and policies outlive the release");
    until("the policy is enforced again on the pod that kept its sidecar", || {
        let report = world.load(&[&namespace.service_url(&app, "/"), "-n", "1"]);
        let first = report.first.values().next().cloned().unwrap_or_default();
        if first.headers.iter().any(|h| h.starts_with("x-ratelimit-limit")) { Ok(()) } else { Err(report) }
    });
}
