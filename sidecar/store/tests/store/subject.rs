//! What the tests ask with: stores, limits, keys, and waiting for things to become true.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_limiter::{Check, Decision, Limit, Quota, Receipt};
use weir_store::{Credentials, InstallKey, Namespace, StateKey, Store, StoreError, Waits};

/// Longer than any test: windows and buckets that stand still.
const STILL: Duration = Duration::from_secs(30 * 24 * 3600);

/// Waits for tests of counting, which must not fail because the machine is busy.
pub(crate) const PATIENT: Waits = Waits { call: Duration::from_secs(20), connect: Duration::from_secs(20) };

pub(crate) fn shop() -> Namespace {
    Namespace::new("shop").unwrap()
}

pub(crate) fn key(identity: &str) -> StateKey {
    StateKey::new(&InstallKey::ZEROS, &shop(), identity.as_bytes())
}

pub(crate) fn window(requests: u64) -> Limit {
    Limit::fixed_window(Quota::new(requests, STILL).unwrap())
}

/// One unit comes back in seven hours.
pub(crate) fn bucket(burst: u64) -> Limit {
    Limit::token_bucket(Quota::new(100, STILL).unwrap(), burst).unwrap()
}

/// Every algorithm with this capacity.
pub(crate) fn variants(capacity: u64) -> [Limit; 5] {
    let quota = Quota::new(capacity, STILL).unwrap();
    let leaky = Limit::leaky_bucket(Quota::new(100, STILL).unwrap(), capacity).unwrap();
    [window(capacity), Limit::sliding_window(quota), Limit::sliding_log(quota).unwrap(), bucket(capacity), leaky]
}

/// Every algorithm with this capacity, and a queue that holds as much, whose next unit comes later than anybody may wait.
pub(crate) fn every_kind(capacity: u64) -> Vec<(&'static str, Limit)> {
    let quota = Quota::new(1, STILL).unwrap();
    let queue = Limit::leaky_queue(quota, Some(capacity), Limit::MAX_WAIT).unwrap();
    variants(capacity).into_iter().map(|limit| (limit.algorithm().name(), limit)).chain([("queue", queue)]).collect()
}

/// What a decision charged, each with its key.
pub(crate) fn charges(checks: &[Check<StateKey>], decision: Decision) -> Vec<(StateKey, Receipt)> {
    let receipts = checks.iter().zip(decision.outcomes);
    receipts.filter_map(|(check, outcome)| Some((check.key, outcome.receipt?))).collect()
}

pub(crate) fn check(identity: &str, limit: Limit) -> Check<StateKey> {
    Check { key: key(identity), limit, cost: 1 }
}

/// A store with the product's own waits.
pub(crate) fn prompt(url: &str) -> Store {
    Store::open(Some(url), Credentials::None, Arc::new(())).unwrap()
}

pub(crate) fn patient(url: &str) -> Store {
    Store::open_with(Some(url), Credentials::None, Arc::new(()), PATIENT).unwrap()
}

/// Asks again and again until the store answers; how long it took.
pub(crate) async fn until_decided(store: &Store) -> Duration {
    let start = Instant::now();
    while let Err(error) = store.decide(&[check("any", window(1_000_000))]).await {
        assert!(start.elapsed() < Duration::from_secs(30), "{error}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    start.elapsed()
}

/// Asks again and again until it fails in the way that is awaited.
pub(crate) async fn until_refused_by_store(store: &Store, awaited: impl Fn(&StoreError) -> bool) -> StoreError {
    let start = Instant::now();
    loop {
        match store.decide(&[check("any", window(1_000_000))]).await {
            Err(error) if awaited(&error) => return error,
            other => assert!(start.elapsed() < Duration::from_secs(30), "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Looks until it is true.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
