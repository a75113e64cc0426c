//! The volumes that the injected containers mount, and the mounts.

use serde_json::{Value, json};

use super::annotations::REVISION;
use super::names::{
    NO_TOKEN_VOLUME, POLICY_CONFIG_MAP, POLICY_ENTRY, POLICY_PATH, POLICY_VOLUME, STORE_PATH, STORE_SECRET,
    STORE_VOLUME, TOKEN_PATH,
};
use super::pod;

/// Adds all three to the pod.
pub(super) fn add(pod: &mut Value) {
    // One volume, so that document, labels and revision change together. Optional: a pod starts without policies too.
    pod::add_volume(
        pod,
        json!({
            "name": POLICY_VOLUME,
            "projected": {
                "defaultMode": 0o444,
                "sources": [
                    {"configMap": {
                        "name": POLICY_CONFIG_MAP,
                        "optional": true,
                        "items": [{"key": POLICY_ENTRY, "path": POLICY_ENTRY}],
                    }},
                    {"downwardAPI": {"items": [
                        {"path": "labels", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.labels"}},
                        {"path": "revision", "fieldRef": {
                            "apiVersion": "v1",
                            "fieldPath": format!("metadata.annotations['{REVISION}']"),
                        }},
                    ]}},
                ],
            },
        }),
    );
    pod::add_volume(
        pod,
        json!({"name": STORE_VOLUME, "secret": {"secretName": STORE_SECRET, "optional": true, "defaultMode": 0o444}}),
    );
    pod::add_volume(pod, json!({"name": NO_TOKEN_VOLUME, "emptyDir": {}}));
}

/// Policies and store: for weir-sidecar.
pub(super) fn sidecar_mounts() -> Value {
    json!([
        {"name": POLICY_VOLUME, "mountPath": POLICY_PATH, "readOnly": true},
        {"name": STORE_VOLUME, "mountPath": STORE_PATH, "readOnly": true},
        no_token(),
    ])
}

/// An empty folder where the API server would mount the application's token: it leaves a container alone that has a mount
/// there.
pub(super) fn no_token() -> Value {
    json!({"name": NO_TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": true})
}
