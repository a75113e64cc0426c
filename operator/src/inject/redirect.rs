//! weir-redirect: the init container that writes the redirect rules. Root and NET_ADMIN, because an added capability is not
//! effective for another user; nothing else.

use serde_json::{Value, json};

use super::decide::Plan;
use super::names::{CAPTURE_PORT, PROGRAM, REDIRECT};
use super::{Injector, sidecar, volumes};

pub(super) fn container(injector: &Injector, plan: &Plan) -> Value {
    let ports: Vec<String> = plan.routes.ports().iter().map(u16::to_string).collect();
    let mut container = json!({
        "name": REDIRECT,
        "image": injector.sidecar_image,
        "command": [PROGRAM],
        "args": ["redirect", "--ports", ports.join(","), "--to", CAPTURE_PORT.to_string()],
        "resources": plan.resources,
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
            "privileged": false,
            "readOnlyRootFilesystem": true,
            "runAsGroup": 0,
            "runAsNonRoot": false,
            "runAsUser": 0,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [volumes::no_token()],
    });
    sidecar::set_pull_policy(&mut container, injector);
    container
}
