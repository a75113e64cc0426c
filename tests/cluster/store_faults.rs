//! Redis away: each policy's own answer, no slow request, and limits again as soon as it is back.
use crate::app::{App, Namespace};
use crate::wait::{until, until_within};
use crate::world::{RELEASE_NAMESPACE, Turn, World, turn};
use std::time::{Duration, Instant};

/// Redis scaled to nothing; back, and waited for, when dropped.
struct RedisAway<'w>(&'w World);

impl<'w> RedisAway<'w> {
    fn begin(world: &'w Turn) -> RedisAway<'w> {
        let away = RedisAway(world);
        scale(world, 0);
        world.kubectl(&["-n", RELEASE_NAMESPACE, "delete", "pod", "weir-redis-0", "--force", "--ignore-not-found"]);
        until("Redis is gone", || match world.redis(&["ping"]) {
            Ok(answer) => Err(answer),
            Err(_) => Ok::<(), String>(()),
        });
        away
    }

    fn end(self) {
        drop(self);
    }
}

impl Drop for RedisAway<'_> {
    fn drop(&mut self) {
        scale(self.0, 1);
        // By way of its Service, as sidecars ask it: a pod that answers is in the Service a moment later.
        until("Redis answers", || match self.0.redis(&["-h", "weir-redis", "ping"]) {
            Ok(answer) if answer.trim() == "PONG" => Ok(()),
            other => Err(other),
        });
    }
}

fn scale(world: &World, replicas: u32) {
    let replicas = format!("--replicas={replicas}");
    world.kubectl(&["-n", RELEASE_NAMESPACE, "scale", "statefulset", "weir-redis", &replicas]);
}

fn policy(on_store_failure: &str) -> String {
    format!(
        "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {{name: faulty}}
spec:
  onStoreFailure: {on_store_failure}
  limits:
  - {{name: all, algorithm: FixedWindow, rate: {{requests: 1000000, period: 24h}}}}
"
    )
}

#[test]
fn redis_killed_under_load_is_allow_or_deny_and_never_slow() {
    let world = turn();
    for (mode, answer) in [("Allow", 200), ("Deny", 503)] {
        let namespace = Namespace::new(&world, &format!("store-{}", mode.to_lowercase()), "");
        let app = App::default();
        namespace.deploy(&app);
        namespace.apply(&policy(mode));
        namespace.condition("faulty", "Enforced", "True");
        let url = namespace.service_url(&app, "/");

        let traffic = world.start_load(&[&url, "-n", "1000000", "-c", "4", "--pause-ms", "5", "--seconds", "120"]);
        let away = RedisAway::begin(&world);
        let report = world.load(&[&url, "-n", "200", "-c", "4"]);
        assert_eq!(report.count(answer), 200, "{mode}: {report:#?}");
        let limited = |report: &weir_tests::load::Report| {
            report.first.get(&200).is_some_and(|r| r.headers.iter().any(|h| h.starts_with("x-ratelimit-limit")))
        };
        assert!(!limited(&report), "nothing was counted, so nothing is claimed: {report:#?}");
        away.end();
        let back = Instant::now();
        until_within(Duration::from_secs(10), "limits hold again", || {
            let report = world.load(&[&url, "-n", "1"]);
            if limited(&report) { Ok(()) } else { Err(report) }
        });
        println!("{mode}: limits hold again {:?} after the first PONG", back.elapsed());
        let report = traffic.stop();
        assert_eq!(report.failed(), 0, "{report:#?}");
        let expected = |status: &u16| *status == 200 || *status == answer;
        assert!(report.statuses.keys().all(expected), "{report:#?}");

        // By the sidecar's own clock: 50 ms for the store, and ten times that for a machine with other things to do.
        let admin = namespace.pod_urls(&app, 15020, "/metrics");
        let metrics = world.load(&[&admin[0], "-n", "1"]).first[&200].body.clone();
        let value = |line: &str| -> f64 {
            let found =
                metrics.lines().find(|l| l.starts_with(line)).unwrap_or_else(|| panic!("no {line} in {metrics}"));
            found.rsplit(' ').next().and_then(|v| v.parse().ok()).expect("a metric is a number")
        };
        let (all, within) =
            (value("weir_decision_seconds_count"), |le| value(&format!("weir_decision_seconds_bucket{{le=\"{le}\"}}")));
        println!("{mode}: {all} decisions, {} within 50 ms, {} within 100 ms", within("0.05"), within("0.1"));
        assert_eq!(within("0.5"), all, "a decision waited longer than ten times its bound: {metrics}");
    }
}

#[test]
fn a_sidecar_that_starts_before_redis_serves_and_limits_later() {
    let world = turn();
    let namespace = Namespace::new(&world, "early", "");
    let away = RedisAway::begin(&world);
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(&policy("Allow"));
    let url = namespace.service_url(&app, "/");
    let report = world.load(&[&url, "-n", "20"]);
    assert_eq!(report.count(200), 20, "{report:#?}");
    let condition = namespace.condition("faulty", "Enforced", "Unknown");
    assert_eq!(condition["reason"], "StoreUnreachable", "{condition}");
    away.end();
    namespace.condition("faulty", "Enforced", "True");
    until("requests are counted", || {
        let report = world.load(&[&url, "-n", "1"]);
        let counted = report.first[&200].headers.iter().any(|h| h.starts_with("x-ratelimit-limit"));
        if counted { Ok(()) } else { Err(report) }
    });
}
