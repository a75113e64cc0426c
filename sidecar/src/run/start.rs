//! What has to be there before a sidecar says that it is ready: policies, a report of them, a store that was tried. Each
//! wait is bounded, and none of them ends the sidecar.
use crate::reload::status::{DocumentState, Status};
use crate::report::Reporter;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::timeout;
use weir_store::Store;

/// How long a pod waits for its first document before it starts unprotected, reported as such.
const FIRST_DOCUMENT: Duration = Duration::from_secs(5);
/// How long the store may take to answer for the first time before requests are served without it.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// Pause between two signs of life that did not come.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Waits for the first policies, at most 5 s.
pub(super) async fn first_document(status: &mut watch::Receiver<Arc<Status>>) {
    let loaded = status.wait_for(|status| status.document == DocumentState::Loaded);
    if timeout(FIRST_DOCUMENT, loaded).await.is_err() {
        tracing::warn!("no policies after {FIRST_DOCUMENT:?}, starting without: nothing is limited until they come");
    }
}

/// Waits until the store answers, at most 1 s, so that the first requests find it connected.
pub(super) async fn first_answer(store: &Store) {
    let answer = async {
        while store.ping().await.is_err() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    if timeout(FIRST_ANSWER, answer).await.is_err() {
        let store = store.status().as_str();
        tracing::warn!(store, "the store does not answer yet, until then requests go by each policy's onStoreFailure");
    }
}

/// Reports once, at most 1 s: a pod that turns ready has said what it enforces.
pub(super) async fn first_report(reporter: &mut Reporter) {
    let _ = timeout(FIRST_ANSWER, reporter.send()).await;
}
