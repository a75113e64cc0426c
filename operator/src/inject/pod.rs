//! Reading and changing the raw JSON of a pod: the few paths that the injector touches, each in one place.

use serde_json::{Map, Value, json};

/// Which list of a pod's spec a container stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Init,
    Regular,
}

impl List {
    pub(super) const BOTH: [List; 2] = [List::Init, List::Regular];

    fn field(self) -> &'static str {
        match self {
            List::Init => "initContainers",
            List::Regular => "containers",
        }
    }
}

pub(super) fn annotations(pod: &Value) -> impl Iterator<Item = (&str, &str)> {
    strings(&pod["metadata"]["annotations"])
}

pub(super) fn labels(pod: &Value) -> impl Iterator<Item = (&str, &str)> {
    strings(&pod["metadata"]["labels"])
}

fn strings(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    map.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

pub(super) fn annotation<'p>(pod: &'p Value, name: &str) -> Option<&'p str> {
    pod["metadata"]["annotations"].get(name).and_then(Value::as_str)
}

pub(super) fn set_annotation(pod: &mut Value, name: &str, value: String) {
    object(object(pod, "metadata"), "annotations")[name] = Value::String(value);
}

pub(super) fn set_label(pod: &mut Value, name: &str, value: &str) {
    object(object(pod, "metadata"), "labels")[name] = json!(value);
}

/// Removes an annotation or label, and the map with its last entry.
pub(super) fn remove_metadata(pod: &mut Value, map: &str, name: &str) {
    let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if let Some(entries) = metadata.get_mut(map).and_then(Value::as_object_mut)
        && entries.remove(name).is_some()
        && entries.is_empty()
    {
        metadata.remove(map);
    }
}

pub(super) fn containers(pod: &Value, list: List) -> impl Iterator<Item = &Value> {
    pod["spec"][list.field()].as_array().into_iter().flatten()
}

pub(super) fn containers_mut(pod: &mut Value, list: List) -> impl Iterator<Item = &mut Value> {
    let found = pod.get_mut("spec").and_then(|spec| spec.get_mut(list.field()));
    found.and_then(Value::as_array_mut).into_iter().flatten()
}

pub(super) fn name(container: &Value) -> &str {
    container["name"].as_str().unwrap_or_default()
}

/// A regular container, or an init container that stays: only these have probes, and only these serve.
pub(super) fn stays(list: List, container: &Value) -> bool {
    list == List::Regular || container["restartPolicy"] == "Always"
}

/// Puts `ours` before the user's init containers.
pub(super) fn prepend_init_containers(pod: &mut Value, ours: Vec<Value>) {
    insert(&mut object(pod, "spec")["initContainers"], true, ours);
}

pub(super) fn add_volume(pod: &mut Value, volume: Value) {
    insert(&mut object(pod, "spec")["volumes"], false, vec![volume]);
}

/// Removes what is named so from a list of the spec, and the list with its last entry.
pub(super) fn remove_named(pod: &mut Value, list: &str, names: &[&str]) {
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(entries) = spec.get_mut(list).and_then(Value::as_array_mut) {
        let before = entries.len();
        entries.retain(|entry| !names.contains(&name(entry)));
        if entries.is_empty() && before > 0 {
            spec.remove(list);
        }
    }
}

/// The object at `field`, made where there is none.
pub(super) fn object<'v>(value: &'v mut Value, field: &str) -> &'v mut Value {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    let slot = &mut value[field];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot
}

/// Puts `entries` into the list at `slot`, made where there is none.
fn insert(slot: &mut Value, at_front: bool, entries: Vec<Value>) {
    match slot {
        Value::Array(list) => {
            let at = if at_front { 0 } else { list.len() };
            list.splice(at..at, entries);
        }
        _ => *slot = Value::Array(entries),
    }
}
