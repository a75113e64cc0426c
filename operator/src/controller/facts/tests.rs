use serde_json::json;

use super::*;

fn pod(status: Value) -> PodFacts {
    let pod = json!({
        "metadata": {"name": "web-1", "uid": "u1", "labels": {"app": "web", "weir.dev/injected": "true"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "r1", "controller": true}]},
        "spec": {"initContainers": [{"name": "weir-sidecar"}], "containers": [{"name": "app"}]},
        "status": status,
    });
    PodFacts::read(&serde_json::from_value(pod).unwrap())
}

fn container(name: &str, started: bool, state: Value) -> Value {
    json!({"name": name, "started": started, "state": state, "image": "", "imageID": "", "ready": started, "restartCount": 0})
}

const NAMESPACE: NamespaceState = NamespaceState { uid: String::new(), terminating: false, injection_enabled: false };

#[test]
fn a_sidecar_that_has_not_started_serves_nobody() {
    assert_eq!(pod(json!({})).sidecar, Sidecar::Starting);
    let starting = container("weir-sidecar", false, json!({"running": {}}));
    assert_eq!(pod(json!({"initContainerStatuses": [starting]})).sidecar, Sidecar::Starting);
}

#[test]
fn a_started_sidecar_counts() {
    let started = container("weir-sidecar", true, json!({"running": {}}));
    assert_eq!(pod(json!({"initContainerStatuses": [started]})).sidecar, Sidecar::Started);
}

#[test]
fn a_crashed_sidecar_beside_a_running_application_still_counts() {
    let crashed = container("weir-sidecar", false, json!({"waiting": {"reason": "CrashLoopBackOff"}}));
    let running = container("app", true, json!({"running": {}}));
    let status = json!({"initContainerStatuses": [crashed], "containerStatuses": [running]});
    assert_eq!(pod(status).sidecar, Sidecar::Started);
}

#[test]
fn the_label_alone_is_no_sidecar() {
    let labelled =
        json!({"metadata": {"name": "p", "labels": {"weir.dev/injected": "true"}}, "spec": {"containers": []}});
    let facts = PodFacts::read(&serde_json::from_value(labelled).unwrap());
    assert_eq!((facts.sidecar, facts.asked(&NAMESPACE)), (Sidecar::Absent, true));
}

#[test]
fn the_pods_own_word_stands_above_the_namespaces() {
    let enabled = NamespaceState { injection_enabled: true, ..NAMESPACE };
    for (annotation, plain, in_enabled) in
        [(None, false, true), (Some("true"), true, true), (Some("false"), false, false)]
    {
        let annotations = annotation.map(|value| json!({"weir.dev/inject": value}));
        let pod = json!({"metadata": {"name": "p", "annotations": annotations}});
        let facts = PodFacts::read_plain(&serde_json::from_value(pod).unwrap());
        assert_eq!((facts.asked(&NAMESPACE), facts.asked(&enabled)), (plain, in_enabled), "{annotation:?}");
    }
}

#[test]
fn a_skipped_pod_tells_why_and_who_made_it() {
    let pod = json!({"metadata": {"name": "p", "annotations": {"weir.dev/status": "skipped; reason=NoPorts"}}});
    let facts = PodFacts::read_plain(&serde_json::from_value(pod).unwrap());
    assert_eq!(facts.skipped.as_deref(), Some("NoPorts"));
    let owner = self::pod(json!({})).owner.unwrap();
    assert_eq!((owner.kind.as_str(), owner.name.as_str()), ("ReplicaSet", "web"));
}

#[test]
fn a_policy_of_any_shape_is_read() {
    for spec in [json!({"limits": 3}), json!("text"), Value::Null] {
        let object = json!({"apiVersion": "weir.dev/v1alpha1", "kind": "RateLimitPolicy", "spec": spec, "status": {"conditions": 7},
            "metadata": {"name": "odd", "namespace": "shop", "uid": "u", "generation": 4, "resourceVersion": "12"}});
        let facts = PolicyFacts::read(&serde_json::from_value(object).unwrap());
        assert_eq!((facts.entry.generation, facts.entry.spec, facts.status), (4, spec, None));
    }
}

#[test]
fn versions_are_compared_as_numbers() {
    let version = |text: &str| {
        let map = json!({"metadata": {"name": "weir-policies", "resourceVersion": text}});
        DocumentFacts::read(&serde_json::from_value(map).unwrap()).version
    };
    assert!(version("9") < version("10"));
}
