//! What a replica needs before the API server may send it reviews: never leadership. Has a client, to look whether the webhook
//! configurations trust it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use tracing::warn;

use crate::certificate::{self, CertificateSettings, ServingCertificate};
use crate::controller::Caches;
use crate::webhook::Namespaces;

/// How often what a replica needs is looked at until it is there, and then.
const LOOK: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(15));

/// What a replica needs before the API server may send it reviews.
#[derive(Debug)]
pub(crate) struct Readiness {
    pub(crate) serving: Arc<ServingCertificate>,
    pub(crate) caches: Arc<Caches>,
    namespaces_known: AtomicBool,
    bundle_in_place: AtomicBool,
    stopping: AtomicBool,
}

// === impl Readiness ===

impl Readiness {
    /// Nothing is there yet.
    pub(crate) fn new(serving: Arc<ServingCertificate>, caches: Arc<Caches>) -> Self {
        let no = || AtomicBool::new(false);
        Self { serving, caches, namespaces_known: no(), bundle_in_place: no(), stopping: no() }
    }

    /// Keeps an eye on what has to be asked for.
    pub(crate) async fn look(self: Arc<Self>, client: Client, settings: CertificateSettings, namespaces: Namespaces) {
        namespaces.synced().await;
        self.namespaces_known.store(true, Ordering::Release);
        let mut said = String::new();
        loop {
            match certificate::ca_bundle_in_place(&client, &settings, &self.serving).await {
                Ok(in_place) => {
                    said.clear();
                    self.bundle_in_place.store(in_place, Ordering::Release);
                }
                // An API server that is away for a moment makes no replica unready. Said once, not at every look.
                Err(error) => {
                    let error = error.to_string();
                    if error != said {
                        warn!(error, "the webhook configurations can't be looked at");
                        said = error;
                    }
                }
            }
            let there = self.bundle_in_place.load(Ordering::Acquire);
            tokio::time::sleep(if there { LOOK.1 } else { LOOK.0 }).await;
        }
    }

    /// This replica is on its way out.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// What is not there yet; ready when nothing is missing.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        let mut need = |there: bool, what: &str| {
            if !there {
                missing.push(what.to_owned());
            }
        };
        need(!self.stopping.load(Ordering::Acquire), "stopping");
        need(self.serving.is_serving(), "no certificate is served yet");
        need(self.bundle_in_place.load(Ordering::Acquire), "the webhook configurations lack the CA");
        need(self.namespaces_known.load(Ordering::Acquire), "namespaces are not listed yet");
        for kind in self.caches.not_synced() {
            need(false, &format!("{kind} are not listed yet"));
        }
        missing
    }
}
