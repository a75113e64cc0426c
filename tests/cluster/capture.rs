//! Where the sidecar stands: in `redirect` nothing from outside gets past it; in `named-port` it needs no privilege.
use crate::app::{App, Namespace};
use crate::wait::{HOUR, enough_is_left};
use crate::world::turn;
use std::time::Duration;

const ONE_AN_HOUR: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: one}
spec:
  onStoreFailure: Deny
  limits:
  - {name: all, algorithm: FixedWindow, rate: {requests: 1, period: 1h}}
";

#[test]
fn redirect_lets_nothing_from_outside_past_the_sidecar() {
    let world = turn();
    let namespace = Namespace::new(&world, "redirect", "");
    let app = App::default();
    namespace.deploy(&app);
    namespace.apply(ONE_AN_HOUR);
    namespace.condition("one", "Enforced", "True");
    let pod = &namespace.pods(&app)[0];
    let names = |field: &str| -> Vec<String> {
        let containers = pod["spec"][field].as_array().cloned().unwrap_or_default();
        containers.iter().filter_map(|c| c["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(names("initContainers"), ["weir-redirect", "weir-sidecar"]);
    enough_is_left(HOUR, Duration::from_secs(60));
    // By the Service, by the pod's own address and number, and by the capture port: one admitted in all.
    // A decision that a busy machine lost may have charged; it is a 503.
    let (mut admitted, mut lost) = (0, 0);
    let mut urls = vec![namespace.service_url(&app, "/")];
    urls.extend(namespace.pod_urls(&app, 8080, "/"));
    for url in urls {
        let report = world.load(&[&url, "-n", "5"]);
        assert_eq!(report.failed(), 0, "{report:#?}");
        admitted += report.count(200);
        lost += report.count(503);
    }
    assert!(admitted == 1 || (admitted == 0 && lost > 0), "{admitted} admitted, {lost} lost");
    let direct = world.load(&[&namespace.pod_urls(&app, 15001, "/")[0], "-n", "3"]);
    assert_eq!(direct.count(200), 0, "the capture port itself serves nobody: {direct:#?}");
}

#[test]
fn a_namespace_that_enforces_restricted_runs_an_injected_pod_and_limits_it() {
    let world = turn();
    let namespace = Namespace::new(&world, "restricted", "pod-security.kubernetes.io/enforce: restricted");
    let app = App {
        container: "\
ports: [{name: http, containerPort: 8080}]
readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}"
            .into(),
        ..App::default()
    };
    namespace.deploy(&app);
    namespace.apply(ONE_AN_HOUR);
    namespace.condition("one", "Enforced", "True");
    enough_is_left(HOUR, Duration::from_secs(30));
    let report = world.load(&[&namespace.service_url(&app, "/"), "-n", "5"]);
    let (admitted, lost) = (report.count(200), report.count(503));
    assert_eq!(admitted + report.count(429) + lost, 5, "{report:#?}");
    assert!(admitted == 1 || (admitted == 0 && lost > 0), "{report:#?}");
}

#[test]
fn the_sidecar_has_no_capability_and_no_api_token() {
    let world = turn();
    let namespace = Namespace::new(&world, "bare", "");
    let app = App::default();
    namespace.deploy(&app);
    let pod = &namespace.pods(&app)[0];
    let containers = pod["spec"]["initContainers"].as_array().expect("injected");
    let sidecar = containers.iter().find(|c| c["name"] == "weir-sidecar").expect("injected");
    let context = &sidecar["securityContext"];
    assert_eq!(context["capabilities"], serde_json::json!({"drop": ["ALL"]}), "{context}");
    assert_eq!(context["readOnlyRootFilesystem"], true, "{context}");
    assert_eq!(context["allowPrivilegeEscalation"], false, "{context}");
    assert!(context["runAsUser"].as_i64().is_some_and(|uid| uid > 0), "{context}");
    let token = "/var/run/secrets/kubernetes.io/serviceaccount";
    let volumes = pod["spec"]["volumes"].as_array().expect("a pod has volumes");
    for container in containers {
        let mounts = container["volumeMounts"].as_array().expect("ours mount something");
        let mount = mounts.iter().find(|m| m["mountPath"] == token).expect("the token's place is taken");
        let volume = volumes.iter().find(|v| v["name"] == mount["name"]).expect("what is mounted exists");
        assert!(volume["emptyDir"].is_object(), "{}: {volume}", container["name"]);
    }
}
