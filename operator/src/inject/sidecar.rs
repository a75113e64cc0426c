//! weir-sidecar: the native sidecar, with its command line and environment. It starts before the application's containers and
//! ends after them, and a Job's pod ends without waiting for it.

use serde_json::{Value, json};

use super::annotations::ForwardedFor;
use super::capture::Routes;
use super::decide::Plan;
use super::names::{
    ADMIN_LOCAL_PORT, ADMIN_PORT, CAPTURE_PORT, POLICY_PATH, PROGRAM, SIDECAR, SIDECAR_USER, STORE_PATH,
};
use super::{Injector, volumes};

/// `probes` are the original probes as JSON, where the kubelet asks the sidecar instead.
pub(super) fn container(injector: &Injector, plan: &Plan, probes: Option<String>) -> Value {
    let mut container = json!({
        "name": SIDECAR,
        "image": injector.sidecar_image,
        "restartPolicy": "Always",
        "command": [PROGRAM],
        "args": arguments(plan),
        "env": environment(probes),
        "ports": [{"name": "weir-admin", "containerPort": ADMIN_PORT, "protocol": "TCP"}],
        // The application starts when this has passed: looked at every second, and the sidecar is ready after 5 s at the
        // latest, policies or not. What lies between that and the end of patience is a node under pressure.
        "startupProbe": probe("/ready", 1, 120),
        "readinessProbe": probe("/ready", 5, 3),
        "livenessProbe": probe("/live", 10, 6),
        // Returns at once. The kubelet ends a native sidecar only after the application, so this is where draining begins;
        // exec, because a request that starts it could be sent by anybody.
        "lifecycle": {"preStop": {"exec": {"command": [PROGRAM, "drain"]}}},
        "resources": plan.resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "privileged": false,
            "readOnlyRootFilesystem": true,
            "runAsGroup": SIDECAR_USER,
            "runAsNonRoot": true,
            "runAsUser": SIDECAR_USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": volumes::sidecar_mounts(),
    });
    set_pull_policy(&mut container, injector);
    container
}

pub(super) fn set_pull_policy(container: &mut Value, injector: &Injector) {
    if let Some(policy) = &injector.image_pull_policy {
        container["imagePullPolicy"] = json!(policy);
    }
}

fn arguments(plan: &Plan) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "run",
        "--policy",
        POLICY_PATH,
        "--labels-file",
        &format!("{POLICY_PATH}/labels"),
        "--namespace",
        "$(WEIR_NAMESPACE)",
        "--store-secret",
        STORE_PATH,
        "--admin",
        &format!("0.0.0.0:{ADMIN_PORT}"),
        "--admin-local",
        &format!("127.0.0.1:{ADMIN_LOCAL_PORT}"),
    ]
    .map(str::to_owned)
    .into();
    let mut flag = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
    let list = |ports: Vec<u16>| ports.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
    let tls = match &plan.routes {
        Routes::Redirect(ports) => {
            flag("--route", format!("0.0.0.0:{CAPTURE_PORT}=original"));
            flag("--captured-ports", list(ports.clone()));
            plan.tls_ports.clone()
        }
        Routes::NamedPort(assigned) => {
            // By the pod's address, never 127.0.0.1: what the application bound to loopback on purpose stays private.
            for (port, listen) in assigned {
                flag("--route", format!("0.0.0.0:{listen}=$(WEIR_POD_IP):{port}"));
            }
            plan.tls_ports.iter().filter_map(|port| assigned.get(port).copied()).collect()
        }
    };
    if !tls.is_empty() {
        flag("--tls-ports", list(tls));
    }
    match plan.x_forwarded_for {
        Some(ForwardedFor::Append) => flag("--x-forwarded-for", "append".into()),
        // What the sidecar does unasked.
        Some(ForwardedFor::Preserve) | None => {}
    }
    arguments
}

fn environment(probes: Option<String>) -> Vec<Value> {
    let field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}});
    let mut environment = vec![
        field("WEIR_POD_NAME", "metadata.name"),
        field("WEIR_POD_UID", "metadata.uid"),
        field("WEIR_NAMESPACE", "metadata.namespace"),
        field("WEIR_POD_IP", "status.podIP"),
    ];
    // The kubelet replaces $(NAME) in values; a doubled dollar is a plain one.
    environment.extend(probes.map(|json| json!({"name": "WEIR_PROBES", "value": json.replace('$', "$$")})));
    environment
}

fn probe(path: &str, period_seconds: u32, failure_threshold: u32) -> Value {
    json!({
        "httpGet": {"path": path, "port": ADMIN_PORT, "scheme": "HTTP"},
        "periodSeconds": period_seconds,
        "failureThreshold": failure_threshold,
        "timeoutSeconds": if period_seconds == 1 { 1 } else { 3 },
        "successThreshold": 1,
    })
}
