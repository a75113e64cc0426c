//! What this sidecar tells the operator, through the store, each second and at each change: which generation of which
//! policy is in force here. A store that is away costs a report, never a request.
use crate::reload::status::Status;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use weir_store::{Heartbeat, Namespace, PolicyReport, RejectedPolicy, Store};

/// How often, when nothing changes.
const EVERY: Duration = Duration::from_secs(1);

/// Sends reports of one sidecar.
#[derive(Debug)]
pub struct Reporter {
    store: Store,
    namespace: Namespace,
    pod_uid: String,
    status: watch::Receiver<Arc<Status>>,
}

impl Reporter {
    /// Reports for this pod what `status` holds.
    #[must_use]
    pub fn new(store: Store, namespace: Namespace, pod_uid: String, status: watch::Receiver<Arc<Status>>) -> Self {
        Self { store, namespace, pod_uid, status }
    }

    /// One report. True when it arrived.
    pub async fn send(&mut self) -> bool {
        let status = self.status.borrow_and_update().clone();
        let heartbeat = heartbeat(&status, &self.pod_uid, &self.store.install_key().id(), self.store.status().as_str());
        match self.store.report(&self.namespace, &heartbeat).await {
            Ok(()) => true,
            Err(error) => {
                tracing::debug!(%error, "a report did not arrive");
                false
            }
        }
    }

    /// Reports for ever.
    pub async fn follow(mut self) {
        loop {
            self.send().await;
            // a change, or a second without one
            if let Ok(Err(_)) = tokio::time::timeout(EVERY, self.status.changed()).await {
                // who published the changes is gone, and would be found so at once each time
                tokio::time::sleep(EVERY).await;
            }
        }
    }
}

/// The record of what `status` holds.
fn heartbeat(status: &Status, pod_uid: &str, install_key: &str, store: &str) -> Heartbeat {
    let mut heartbeat = Heartbeat::new(pod_uid, install_key, store);
    // a policy from a local file has no uid, and nobody waits for a report of it
    let in_force = status.in_force().filter(|(_, version)| !version.uid.is_empty());
    heartbeat.policies = in_force
        .map(|(_, version)| PolicyReport { uid: version.uid.clone(), generation: version.generation })
        .collect();
    let rejected = status.rejected();
    heartbeat.rejected = rejected
        .map(|(_, fault)| RejectedPolicy {
            uid: fault.uid.clone(),
            generation: fault.generation,
            message: fault.faults.join("\n"),
        })
        .collect();
    heartbeat
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reload::status::{Fault, PolicyStatus, Version};

    fn policy(name: &str, generation: i64, selected: bool, rejected: Option<i64>) -> PolicyStatus {
        let uid = format!("uid-{name}");
        let rejected = rejected.map(|generation| Fault { uid: uid.clone(), generation, faults: vec!["a: b".into()] });
        let running = Some(Version { uid, generation, limits: Vec::new(), warnings: Vec::new() });
        PolicyStatus { namespace: "shop".into(), name: name.into(), running, selected, rejected }
    }

    #[test]
    fn only_what_is_in_force_here_is_reported_and_what_was_refused_beside_it() {
        let policies = vec![policy("a", 3, true, None), policy("b", 1, false, None), policy("c", 4, true, Some(5))];
        let status = Status { policies, ..Status::default() };
        let heartbeat = heartbeat(&status, "pod", "00000000", "connected");
        assert_eq!(heartbeat.generation_of("uid-a"), Some(3));
        assert_eq!(heartbeat.generation_of("uid-b"), None);
        assert_eq!(heartbeat.generation_of("uid-c"), Some(4));
        let refused: Vec<_> = heartbeat.rejected.iter().map(|r| (r.uid.as_str(), r.generation)).collect();
        assert_eq!(refused, [("uid-c", 5)]);
    }
}
