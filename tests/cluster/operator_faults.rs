//! The operator away: requests don't notice, pods start, and another replica takes over.
use crate::app::{App, Namespace};
use crate::wait::until;
use crate::world::{RELEASE_NAMESPACE, World, turn};

const POLICY: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: steady}
spec:
  limits:
  - {name: all, algorithm: FixedWindow, rate: {requests: 1000000, period: 24h}}
";

fn holder(world: &World) -> String {
    let lease = world.get(RELEASE_NAMESPACE, &["lease", "weir-operator"]).expect("the leader holds a lease");
    lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
}

fn operator_ready(world: &World) {
    world.kubectl(&["-n", RELEASE_NAMESPACE, "rollout", "status", "deployment/weir-operator", "--timeout=90s"]);
}

#[test]
fn both_replicas_killed_in_turn_cost_no_request_and_another_leads() {
    let world = turn();
    let namespace = Namespace::new(&world, "leaders", "");
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(POLICY);
    namespace.condition("steady", "Enforced", "True");
    let url = namespace.service_url(&app, "/");
    let traffic = world.start_load(&[&url, "-n", "1000000", "-c", "2", "--pause-ms", "5", "--seconds", "240"]);
    for requests in [900_000, 800_000] {
        let leader = holder(&world);
        let pod = leader.split('_').next().unwrap_or_default().to_owned();
        world.kubectl(&["-n", RELEASE_NAMESPACE, "delete", "pod", &pod, "--grace-period=0", "--force"]);
        until("another replica leads", || if holder(&world) == leader { Err(leader.clone()) } else { Ok(()) });
        until("an edit is accepted", || {
            world.try_apply(&namespace.name, &POLICY.replace("1000000", &requests.to_string()))
        });
        namespace.condition("steady", "Enforced", "True");
        operator_ready(&world);
    }
    let report = traffic.stop();
    assert_eq!((report.failed(), report.count(200)), (0, report.statuses.values().sum()), "{report:#?}");
}

#[test]
fn with_the_operator_down_annotated_and_plain_pods_start() {
    let world = turn();
    let namespace = Namespace::new(&world, "orphans", "");
    let scale = |replicas: &str| {
        world.kubectl(&[
            "-n",
            RELEASE_NAMESPACE,
            "scale",
            "deployment",
            "weir-operator",
            &format!("--replicas={replicas}"),
        ])
    };
    scale("0");
    until("the operator is gone", || {
        let pods = world.get(RELEASE_NAMESPACE, &["pods", "-l", "app.kubernetes.io/name=weir-operator"])?;
        let left = pods["items"].as_array().map_or(0, Vec::len);
        if left == 0 { Ok(()) } else { Err(format!("{left} pods")) }
    });
    let annotated = App { name: "annotated", ..App::default() };
    let plain = App { name: "plain", annotations: String::new(), ..App::default() };
    let started = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        namespace.deploy(&annotated);
        namespace.deploy(&plain);
    }));
    scale("2");
    operator_ready(&world);
    started.expect("both start without the operator");
    // The annotated pod came up without a sidecar; the status of a policy must say so, not hide it.
    namespace.apply(POLICY);
    let condition = namespace.condition("steady", "Enforced", "False");
    assert_eq!(condition["reason"], "PodsWithoutSidecar", "{condition}");
}
