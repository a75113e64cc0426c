//! Limits that only count: what an admitted request would have met, asked of the store beside the request, which never
//! waits for it. Each is a group of its own, so that one which is exhausted keeps no other from counting.
//!
//! They are asked after the enforced limits have admitted the request, and not in the same call: no call can make one
//! group depend on another, and what a refused request would have taken must not be counted.
use crate::metrics::LimitCounters;
use futures_util::future::join_all;
use std::sync::Arc;
use tokio::sync::Semaphore;
use weir_limiter::Check;
use weir_store::{StateKey, Store};

/// Requests whose shadow limits are asked at once; those of a further one are not, and count as `store_failed`. Each is
/// over when the store's answer is, within 50 ms.
const REQUESTS: u32 = 4096;

/// A limit that only counts, as one request means it.
#[derive(Debug)]
pub(super) struct Shadow {
    pub(super) check: Check<StateKey>,
    pub(super) counters: LimitCounters,
}

/// Asks about shadow limits beside the requests. A clone has the same places.
#[derive(Clone, Debug)]
pub(super) struct Shadows {
    places: Arc<Semaphore>,
}

impl Shadows {
    pub(super) fn new() -> Self {
        Self { places: Arc::new(Semaphore::new(REQUESTS as usize)) }
    }

    /// Charges each of them for one admitted request, soon, and counts what would have become of it. Returns at once.
    pub(super) fn charge(&self, store: &Store, shadows: Vec<Shadow>) {
        if shadows.is_empty() {
            return;
        }
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            for shadow in shadows {
                shadow.counters.store_failed.inc();
            }
            return;
        };
        let store = store.clone();
        tokio::spawn(async move {
            join_all(shadows.iter().map(|shadow| shadow.charge(&store))).await;
            drop(place);
        });
    }

    /// When all that was handed in so far is counted; the store's own bound is that of this wait.
    pub(super) async fn settled(&self) {
        // closed by nobody
        drop(self.places.acquire_many(REQUESTS).await);
    }
}

impl Shadow {
    async fn charge(&self, store: &Store) {
        match store.decide(std::slice::from_ref(&self.check)).await {
            Ok(decision) if decision.admitted => self.counters.admitted.inc(),
            Ok(_) => self.counters.shadow_refused.inc(),
            Err(_) => self.counters.store_failed.inc(),
        };
    }
}
