//! The events that the leader writes, as objects: a pod that was left without a sidecar, on what made the pod; a document that
//! was changed by hand and put back. Pure; sending them is the controller's.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use crate::controller::{DocumentFacts, PodFacts};
use crate::document::CONFIG_MAP;

/// Who says it.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    /// This replica's pod.
    pub(crate) instance: String,
}

/// A pod was left without a sidecar. One event for each owner and reason: its name is made of both, so that the second one is
/// refused as existing, whichever replica sends it.
pub(crate) fn skipped(reporter: &Reporter, namespace: &str, pod: &PodFacts, reason: &str, now: Timestamp) -> Event {
    let regarding = match &pod.owner {
        Some(owner) => ObjectReference {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            name: Some(owner.name.clone()),
            uid: Some(owner.uid.clone()),
            namespace: Some(namespace.to_owned()),
            ..ObjectReference::default()
        },
        None => ObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(pod.name.clone()),
            uid: Some(pod.uid.clone()),
            namespace: Some(namespace.to_owned()),
            ..ObjectReference::default()
        },
    };
    let mut hasher = DefaultHasher::new();
    (&regarding.uid, reason).hash(&mut hasher);
    let name = format!("weir-skipped-{:016x}", hasher.finish());
    let note =
        format!("pod {} asked for a sidecar and gets none: {}; its requests are not limited", pod.name, cut(reason));
    event(reporter, name, regarding, "SidecarSkipped", "Inject", note, now)
}

/// The document was not what the policies say.
pub(crate) fn put_back(reporter: &Reporter, namespace: &str, document: &DocumentFacts, now: Timestamp) -> Event {
    let regarding = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("ConfigMap".to_owned()),
        name: Some(CONFIG_MAP.to_owned()),
        uid: Some(document.uid.clone()),
        namespace: Some(namespace.to_owned()),
        ..ObjectReference::default()
    };
    let name = format!("{CONFIG_MAP}.{:x}", now.as_nanosecond());
    let note = "somebody changed what the policies say, and the operator put it back: change a RateLimitPolicy instead";
    event(reporter, name, regarding, "PutBack", "Apply", note.to_owned(), now)
}

fn event(
    reporter: &Reporter,
    name: String,
    regarding: ObjectReference,
    reason: &str,
    action: &str,
    note: String,
    now: Timestamp,
) -> Event {
    Event {
        metadata: ObjectMeta { name: Some(name), namespace: regarding.namespace.clone(), ..ObjectMeta::default() },
        event_time: Some(MicroTime(now)),
        type_: Some("Warning".to_owned()),
        reason: Some(reason.to_owned()),
        action: Some(action.to_owned()),
        note: Some(note),
        regarding: Some(regarding),
        reporting_controller: Some("weir.dev/operator".to_owned()),
        reporting_instance: Some(reporter.instance.clone()),
        ..Event::default()
    }
}

/// The annotation is the user's to write, and a note ends at 1 KiB, in bytes.
fn cut(reason: &str) -> &str {
    let end = (0..=200.min(reason.len())).rev().find(|end| reason.is_char_boundary(*end));
    &reason[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{Owner, Sidecar};

    fn pod(name: &str, owner: Option<&str>) -> PodFacts {
        PodFacts {
            name: name.to_owned(),
            uid: format!("uid-{name}"),
            labels: [].into(),
            terminating: false,
            sidecar: Sidecar::Absent,
            wish: Some(true),
            skipped: Some("NoPorts".to_owned()),
            owner: owner.map(|uid| Owner {
                api_version: "apps/v1".to_owned(),
                kind: "ReplicaSet".to_owned(),
                name: "web".to_owned(),
                uid: uid.to_owned(),
            }),
        }
    }

    fn name(pod: &PodFacts, reason: &str) -> String {
        let reporter = Reporter { instance: "operator-1".to_owned() };
        skipped(&reporter, "shop", pod, reason, Timestamp::UNIX_EPOCH).metadata.name.unwrap()
    }

    #[test]
    fn replicas_of_one_owner_make_one_event_for_each_reason() {
        let (a, b) = (pod("a", Some("r1")), pod("b", Some("r1")));
        assert_eq!(name(&a, "NoPorts"), name(&b, "NoPorts"));
        assert_ne!(name(&a, "NoPorts"), name(&a, "HostNetwork"));
        assert_ne!(name(&a, "NoPorts"), name(&pod("c", Some("r2")), "NoPorts"));
    }

    #[test]
    fn a_note_fits_whatever_the_annotation_says() {
        let reporter = Reporter { instance: "operator-1".to_owned() };
        let pod = pod(&"n".repeat(253), None);
        let event = skipped(&reporter, "shop", &pod, &"😀".repeat(1000), Timestamp::UNIX_EPOCH);
        assert!(event.note.unwrap().len() <= 1024);
    }

    #[test]
    fn a_pod_that_nobody_made_is_told_about_itself() {
        let reporter = Reporter { instance: "operator-1".to_owned() };
        let event = skipped(&reporter, "shop", &pod("alone", None), "NoPorts", Timestamp::UNIX_EPOCH);
        let regarding = event.regarding.unwrap();
        assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("Pod"), Some("alone")));
        assert!(event.note.unwrap().contains("NoPorts"));
    }
}
