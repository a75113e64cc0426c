//! What the injector changed, kept in the pod's annotation `weir.dev/original`, and the way back from it. What the injector
//! only added needs no record: it goes by name.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::annotations::{INJECTED_LABEL, ORIGINAL, REVISION, STATUS};
use super::decide::Plan;
use super::names::{REDIRECT, SIDECAR, VOLUMES};
use super::pod::{self, List};
use super::ports;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Original {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    ports: Vec<PortChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    handlers: Vec<HandlerChange>,
}

/// A named port that got the sidecar's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PortChange {
    pub(super) container: String,
    pub(super) name: String,
    pub(super) was: u16,
    pub(super) is: u16,
}

/// A probe or lifecycle hook that was pointed elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandlerChange {
    pub(super) container: String,
    /// JSON pointer inside the container, such as `/readinessProbe`.
    pub(super) at: String,
    /// The handler before: an object with the one entry `httpGet` or `tcpSocket`.
    pub(super) was: Value,
    /// The handler after, likewise.
    pub(super) is: Value,
}

/// Writes down what was changed and what became of the pod.
pub(super) fn record(pod: &mut Value, plan: &Plan, handlers: Vec<HandlerChange>, ports: Vec<PortChange>) {
    let captured: Vec<String> = plan.routes.ports().iter().map(u16::to_string).collect();
    let status = format!("injected; capture={}; ports={}", plan.routes.name(), captured.join(","));
    pod::set_annotation(pod, ORIGINAL, json!(Original { ports, handlers }).to_string());
    pod::set_annotation(pod, STATUS, status);
    pod::set_label(pod, INJECTED_LABEL, "true");
}

/// The pod as it was before any injection. What somebody changed after the injection stays changed.
///
/// # Errors
/// When the record can't be read: somebody wrote it who isn't us.
pub(super) fn strip(pod: &Value) -> Result<Value, String> {
    let mut pod = pod.clone();
    if let Some(text) = pod::annotation(&pod, ORIGINAL) {
        let original: Original = serde_json::from_str(text).map_err(|e| {
            format!("annotation {ORIGINAL}: written by the injector only, and this one can't be read ({e}); remove it")
        })?;
        for list in ["initContainers", "containers"] {
            pod::remove_named(&mut pod, list, &[SIDECAR, REDIRECT]);
        }
        pod::remove_named(&mut pod, "volumes", &VOLUMES);
        original.ports.iter().for_each(|change| restore_port(&mut pod, change));
        original.handlers.iter().for_each(|change| restore_handler(&mut pod, change));
    }
    for annotation in [ORIGINAL, STATUS, REVISION] {
        pod::remove_metadata(&mut pod, "annotations", annotation);
    }
    pod::remove_metadata(&mut pod, "labels", INJECTED_LABEL);
    Ok(pod)
}

fn restore_port(pod: &mut Value, change: &PortChange) {
    let containers = pod::containers_mut(pod, List::Regular).filter(|c| pod::name(c) == change.container);
    for port in containers.filter_map(|c| c.get_mut("ports")?.as_array_mut()).flatten() {
        let ours = port["name"] == change.name.as_str() && ports::number(&port["containerPort"]) == Some(change.is);
        if ours {
            port["containerPort"] = json!(change.was);
        }
    }
}

fn restore_handler(pod: &mut Value, change: &HandlerChange) {
    for list in List::BOTH {
        for container in pod::containers_mut(pod, list).filter(|c| pod::name(c) == change.container) {
            let Some(Value::Object(handler)) = container.pointer_mut(&change.at) else { continue };
            let (Some(is), Some(was)) = (change.is.as_object(), change.was.as_object()) else { continue };
            let ours = is.iter().all(|(kind, fields)| handler.get(kind).is_some_and(|held| includes(held, fields)));
            if ours {
                is.keys().for_each(|kind| drop(handler.remove(kind)));
                handler.extend(was.clone());
            }
        }
    }
}

/// Whether `held` has all of `fields`; the API server may have added its defaults.
fn includes(held: &Value, fields: &Value) -> bool {
    fields.as_object().into_iter().flatten().all(|(name, value)| held.get(name) == Some(value))
}
