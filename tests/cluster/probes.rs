//! Probes are never counted, and their verdict is the application's.
use crate::app::{App, Namespace};
use crate::wait::{HOUR, enough_is_left, until};
use crate::world::turn;

const ONE_AN_HOUR: &str = "\
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: one}
spec:
  limits:
  - {name: all, algorithm: FixedWindow, rate: {requests: 1, period: 1h}}
";

fn app_with_probes(annotations: &str, readiness: &str, liveness: &str) -> App {
    App {
        annotations: format!("weir.dev/inject: \"true\"{annotations}"),
        container: format!(
            "ports: [{{name: http, containerPort: 8080}}]\n\
             readinessProbe: {{{readiness}, periodSeconds: 1, failureThreshold: 2}}\n\
             livenessProbe: {{{liveness}, periodSeconds: 1, failureThreshold: 3}}"
        ),
        ..App::default()
    }
}

#[test]
fn a_limit_of_one_an_hour_on_everything_keeps_probes_passing() {
    let world = turn();
    let (http, tcp) = ("httpGet: {path: /healthz, port: http}", "tcpSocket: {port: http}");
    for (name, annotations) in
        [("redirect", ", weir.dev/capture: redirect"), ("named", ", weir.dev/capture: named-port")]
    {
        for (kind, probe) in [("http", http), ("tcp", tcp)] {
            let namespace = Namespace::new(&world, &format!("probes-{name}-{kind}"), "");
            namespace.apply(ONE_AN_HOUR);
            let app = app_with_probes(annotations, probe, probe);
            namespace.deploy(&app);
            namespace.condition("one", "Enforced", "True");
            let url = namespace.service_url(&app, "/");
            enough_is_left(HOUR, std::time::Duration::from_secs(60));
            // a decision that takes more than 50 ms on a busy machine lets its request pass, uncounted
            let limited = || {
                let report = world.load(&[&url, "-n", "5"]);
                if report.count(429) > 0 { Ok(report) } else { Err(report) }
            };
            until("the hour's one request is spent", limited);
            // Ten periods of both probes.
            std::thread::sleep(std::time::Duration::from_secs(10));
            until("still serving, still limited", limited);
            assert_eq!(namespace.restarts(&app, "app"), 0, "{name} {kind}");
        }
    }
}

#[test]
fn an_application_that_fails_its_probe_becomes_unready() {
    let world = turn();
    let namespace = Namespace::new(&world, "unwell", "");
    let app = app_with_probes("", "httpGet: {path: /healthz, port: http}", "tcpSocket: {port: http}");
    namespace.deploy(&app);
    namespace.apply(ONE_AN_HOUR);
    namespace.condition("one", "Enforced", "True");
    let pod = namespace.pods(&app)[0]["metadata"]["name"].as_str().expect("a pod has a name").to_owned();
    let unwell = "http://127.0.0.1:8080/unwell";
    namespace.kubectl(&["exec", &pod, "-c", "app", "--", "weir-echo", "load", unwell, "-X", "POST", "-n", "1"]);
    until("the pod is unready", || {
        let ready = namespace.pods(&app)[0]["status"]["containerStatuses"][0]["ready"].clone();
        if ready == false { Ok(()) } else { Err(ready) }
    });
}

#[test]
fn an_application_that_stops_listening_fails_its_tcp_probe() {
    let world = turn();
    let namespace = Namespace::new(&world, "deaf", "");
    // Nothing listens on 8080: behind a proxy that accepts for it, a tcp probe would always succeed.
    let mut app = app_with_probes("", "tcpSocket: {port: http}", "exec: {command: [weir-echo, --help]}");
    app.container = app.container.replace("ports:", "env: [{name: WEIR_ECHO_LISTEN, value: \"0.0.0.0:9999\"}]\nports:");
    namespace.apply(&namespace.manifest(&app).replace("args: [serve, --listen, \"0.0.0.0:8080\"]", "args: [serve]"));
    let started = until("the application runs", || {
        let pod = namespace.pods(&app).first().cloned().ok_or("no pod".to_owned())?;
        let status = &pod["status"]["containerStatuses"][0];
        if status["state"]["running"].is_object() { Ok(status.clone()) } else { Err(pod["status"].to_string()) }
    });
    assert_eq!(started["ready"], false);
    std::thread::sleep(std::time::Duration::from_secs(5));
    assert_eq!(namespace.pods(&app)[0]["status"]["containerStatuses"][0]["ready"], false);
}
