//! What a sidecar tells the operator each second: which generations it runs, and whether its store answers.
//! The record and where it lies; not how it gets there.

use serde::{Deserialize, Serialize};

use crate::key::Namespace;

/// The version of the record that this code writes and reads.
const VERSION: u32 = 1;

/// How long a heartbeat is believed, in seconds: five missed ones and the sidecar counts as gone.
pub const HEARTBEAT_TTL_SECONDS: u32 = 5;

/// One sidecar's report, JSON under `weir:{<namespace>}:hb:<pod uid>` with a TTL of 5 s.
///
/// Fields that a later version adds are ignored by an earlier one; a record of another `version` is skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    version: u32,
    /// The pod's uid.
    pub pod_uid: String,
    /// Every policy in force in this pod.
    pub policies: Vec<PolicyReport>,
    /// Every policy of the document that this sidecar could not take, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejected: Vec<RejectedPolicy>,
    /// [`crate::InstallKey::id`] of the key in use: sidecars with different ids don't share counters.
    pub install_key: String,
    /// `connected`, or the name of the reason for which the store last failed ([`crate::Reason`]).
    pub store: String,
}

/// A policy in force. The uid, since a recreated policy starts again at generation 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyReport {
    /// `metadata.uid` of the policy.
    pub uid: String,
    /// `metadata.generation` that is in force.
    pub generation: i64,
}

/// A policy that a sidecar refused; what it ran of that policy before stays in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RejectedPolicy {
    /// `metadata.uid` of the policy.
    pub uid: String,
    /// `metadata.generation` that was refused.
    pub generation: i64,
    /// The faults, one a line.
    pub message: String,
}

// === impl Heartbeat ===

impl Heartbeat {
    /// A report of the current version.
    #[must_use]
    pub fn new(pod_uid: impl Into<String>, install_key: impl Into<String>, store: impl Into<String>) -> Self {
        Self {
            version: VERSION,
            pod_uid: pod_uid.into(),
            policies: Vec::new(),
            rejected: Vec::new(),
            install_key: install_key.into(),
            store: store.into(),
        }
    }

    /// The generation of a policy that this sidecar has in force.
    #[must_use]
    pub fn generation_of(&self, policy_uid: &str) -> Option<i64> {
        self.policies.iter().find(|policy| policy.uid == policy_uid).map(|policy| policy.generation)
    }

    /// As it is stored.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        // strings and integers always serialize
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// As it was stored; None for another version or anything else that is no heartbeat.
    pub(crate) fn from_json(json: &[u8]) -> Option<Self> {
        serde_json::from_slice::<Self>(json).ok().filter(|heartbeat| heartbeat.version == VERSION)
    }
}

/// Where a pod's heartbeat lies: under the namespace's hash tag, like its counters.
pub(crate) fn heartbeat_key(namespace: &Namespace, pod_uid: &str) -> Vec<u8> {
    format!("weir:{{{namespace}}}:hb:{pod_uid}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heartbeat() -> Heartbeat {
        let mut heartbeat = Heartbeat::new("pod-1", "00ff00ff", "connected");
        heartbeat.policies.push(PolicyReport { uid: "policy-1".to_owned(), generation: 3 });
        heartbeat
    }

    #[test]
    fn the_record_is_frozen() {
        let json = String::from_utf8(heartbeat().to_json()).unwrap();
        assert_eq!(
            json,
            r#"{"version":1,"podUid":"pod-1","policies":[{"uid":"policy-1","generation":3}],"installKey":"00ff00ff","store":"connected"}"#
        );
        assert_eq!(heartbeat_key(&Namespace::new("shop").unwrap(), "pod-1"), b"weir:{shop}:hb:pod-1");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let mut sent = heartbeat();
        sent.rejected.push(RejectedPolicy { uid: "p".to_owned(), generation: 1, message: "no".to_owned() });
        assert_eq!(Heartbeat::from_json(&sent.to_json()), Some(sent.clone()));
        assert_eq!(sent.generation_of("policy-1"), Some(3));
        assert_eq!(sent.generation_of("policy-2"), None);
    }

    #[test]
    fn another_version_or_garbage_is_no_heartbeat_and_an_added_field_is_ignored() {
        let text = String::from_utf8(heartbeat().to_json()).unwrap();
        assert_eq!(Heartbeat::from_json(text.replace("\"version\":1", "\"version\":2").as_bytes()), None);
        assert_eq!(Heartbeat::from_json(b"{}"), None);
        assert_eq!(Heartbeat::from_json(b"\xff"), None);
        let more = text.replace("\"version\":1", "\"version\":1,\"later\":true");
        assert_eq!(Heartbeat::from_json(more.as_bytes()), Some(heartbeat()));
    }
}
