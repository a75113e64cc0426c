//! Pods come and go with a sidecar in them as they would without.
use crate::app::{App, Namespace};
use crate::world::turn;

const POLICY: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: wide}
spec:
  limits:
  - {name: all, algorithm: TokenBucket, rate: {requests: 1000000, period: 1m}}
";

#[test]
fn a_job_with_a_sidecar_completes() {
    let world = turn();
    let namespace = Namespace::new(&world, "job", "");
    namespace.apply(&format!(
        "\
apiVersion: batch/v1
kind: Job
metadata: {{name: once}}
spec:
  template:
    metadata: {{annotations: {{weir.dev/inject: \"true\"}}}}
    spec:
      restartPolicy: Never
      containers:
      - {{name: work, image: {}, imagePullPolicy: Never, args: [--help], ports: [{{containerPort: 8080}}]}}
",
        world.image("echo")
    ));
    namespace.kubectl(&["wait", "--for=condition=complete", "job/once", "--timeout=90s"]);
    let pods = namespace.get(&["pods"]);
    let sidecars = &pods["items"][0]["spec"]["initContainers"];
    assert!(sidecars.to_string().contains("weir-sidecar"), "the job's pod was injected: {sidecars}");
}

#[test]
fn a_rolling_restart_under_keep_alive_load_fails_no_request() {
    let world = turn();
    let namespace = Namespace::new(&world, "rolling", "");
    // The application keeps serving for a moment after it is asked to end, as any must behind a Service.
    let mut app = App { replicas: 2, ..App::default() };
    app.container += "\nlifecycle: {preStop: {sleep: {seconds: 3}}}";
    namespace.deploy(&app);
    namespace.apply(POLICY);
    namespace.condition("wide", "Enforced", "True");
    let url = namespace.service_url(&app, "/");
    let traffic = world.start_load(&[&url, "-n", "1000000", "-c", "8", "--pause-ms", "5", "--seconds", "240"]);
    for _ in 0..2 {
        namespace.kubectl(&["rollout", "restart", &format!("deployment/{}", app.name)]);
        namespace.rolled_out(&app);
    }
    let report = traffic.stop();
    assert!(report.count(200) > 0);
    assert_eq!((report.failed(), report.count(200)), (0, report.statuses.values().sum()), "{report:#?}");
}

#[test]
fn a_deleted_namespace_goes_and_nothing_of_ours_holds_it() {
    let world = turn();
    let namespace = Namespace::new(&world, "leaves", "");
    namespace.deploy(&App::default());
    namespace.apply(POLICY);
    namespace.condition("wide", "Enforced", "True");
    world.kubectl(&["delete", "namespace", &namespace.name, "--timeout=60s"]);
}
