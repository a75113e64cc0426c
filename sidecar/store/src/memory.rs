//! Limits counted in this process: the model of the algorithms behind locks.
//!
//! States lie in shards, each behind its lock. A request locks the shards of all its keys, each once and in
//! their order, so requests never wait for each other in a circle and a decision over several keys is one step.
//! Time is an argument. What a state is, and when it stops mattering, is the model's.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_limiter::{Check, Decision, Limit, Receipt, State, Timestamp, decide, decide_shared};

use crate::key::StateKey;
use crate::observer::{Observer, Refunds};
use crate::refunds::Ledger;

/// States held at most, of some 250 bytes each; a log counts as so many of them as it takes room for. Beyond it those
/// that would end soonest are forgotten, so that a client with random keys costs bounded memory; what is forgotten
/// starts anew.
pub(crate) const STATES: usize = 1 << 20;
/// Bytes of a state with its key and its place in the map.
const STATE_BYTES: usize = 250;
const SHARDS: usize = 64;
/// A shard smaller than this is never swept.
const SMALL: usize = 64;

/// Limits counted in this process. Clones share their states.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    /// Weight of one shard at most.
    bound: usize,
    overflowed: AtomicBool,
    ledger: Ledger,
}

#[derive(Debug)]
struct Shard {
    states: HashMap<StateKey, Held>,
    /// Of all states together.
    weight: usize,
    /// The size at which dead states are swept out before another is added.
    sweep_at: usize,
}

#[derive(Debug)]
struct Held {
    state: State,
    expires: Timestamp,
    /// In states of the usual size: 1, and more for a log.
    weight: usize,
}

/// The keys of one request, each once, and the shards to lock for them.
struct Keys {
    /// Of each check, the place of its key in `distinct`.
    slots: Vec<usize>,
    /// Each key, and the place of its shard in `shards`.
    distinct: Vec<(StateKey, usize)>,
    /// In the order of locking, each once.
    shards: Vec<usize>,
}

// === impl MemoryStore ===

impl MemoryStore {
    /// A store that holds at most about so many states (at least one for each of its 64 shards).
    #[must_use]
    pub fn with_bound(states: usize) -> Self {
        Self::observed(states, Arc::new(()))
    }

    /// One that holds up to 2^20 states; `observer` hears of refunds.
    #[must_use]
    pub fn observed_by(observer: Arc<dyn Observer>) -> Self {
        Self::observed(STATES, observer)
    }

    fn observed(states: usize, observer: Arc<dyn Observer>) -> Self {
        let shard = || Mutex::new(Shard { states: HashMap::new(), weight: 0, sweep_at: SMALL });
        let inner = Inner {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            hasher: RandomState::new(),
            bound: states.div_ceil(SHARDS).max(1),
            overflowed: AtomicBool::new(false),
            ledger: Ledger::new(observer),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Decides one request at the instant `now`: every check passes and all are charged, or none is.
    #[must_use]
    pub fn decide(&self, now: Timestamp, checks: &[Check<StateKey>]) -> Decision {
        if let [check] = checks {
            return self.decide_one(now, check);
        }
        let keys = Keys::of(checks, &self.inner);
        let mut locked: Vec<MutexGuard<'_, Shard>> =
            keys.shards.iter().map(|place| lock(&self.inner.shards[*place])).collect();
        let limits: Vec<(Limit, u64)> = checks.iter().map(|check| (check.limit, check.cost)).collect();
        // taken out and put back, not copied: a log may hold 100,000 instants
        let take = |(key, guard): &(StateKey, usize)| locked[*guard].take(key);
        let mut states: Vec<Option<State>> = keys.distinct.iter().map(take).collect();
        let decision = decide_shared(now, &limits, &keys.slots, &mut states);
        for (check, slot) in checks.iter().zip(&keys.slots) {
            let (key, guard) = keys.distinct[*slot];
            // of several checks on one key, the first puts it back
            self.keep(&mut locked[guard], key, states[*slot].take(), &check.limit, now);
        }
        decision
    }

    fn decide_one(&self, now: Timestamp, check: &Check<StateKey>) -> Decision {
        let mut shard = lock(&self.inner.shards[self.inner.place(&check.key)]);
        let mut state = [shard.take(&check.key)];
        let decision = decide(now, &[(check.limit, check.cost)], &mut state);
        let [state] = state;
        self.keep(&mut shard, check.key, state, &check.limit, now);
        decision
    }

    /// Gives charges back at the instant `now`, last first.
    pub fn refund(&self, now: Timestamp, charges: Vec<(StateKey, Receipt)>) {
        let mut refunds = Refunds::default();
        for (key, receipt) in charges.into_iter().rev() {
            let mut shard = lock(&self.inner.shards[self.inner.place(&key)]);
            // it keeps its life and its weight, a log its room for instants
            let given_back = shard.states.get_mut(&key).is_some_and(|held| held.state.refund(now, receipt));
            refunds.given_back += usize::from(given_back);
            refunds.nothing_left += usize::from(!given_back);
        }
        self.inner.ledger.done(refunds);
    }

    /// How many states are held, dead ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.shards.iter().map(|shard| lock(shard).states.len()).sum()
    }

    /// Whether no state is held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn keep(&self, shard: &mut Shard, key: StateKey, state: Option<State>, limit: &Limit, now: Timestamp) {
        let Some(state) = state else { return };
        let bound = self.inner.bound;
        let weight = 1 + state.heap_bytes() / STATE_BYTES;
        if (shard.states.len() >= shard.sweep_at.min(bound) || shard.weight + weight > bound)
            && shard.make_room(now, bound, weight)
            && !self.inner.overflowed.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(bound = bound * SHARDS, "the memory store is full: states that end soonest are forgotten");
        }
        let expires = state.expires(limit);
        shard.weight += weight;
        shard.states.insert(key, Held { state, expires, weight });
    }
}

impl Default for MemoryStore {
    /// Holds up to 2^20 states.
    fn default() -> Self {
        Self::with_bound(STATES)
    }
}

// === impl Keys ===

impl Keys {
    fn of(checks: &[Check<StateKey>], inner: &Inner) -> Self {
        let mut places: Vec<(StateKey, usize)> = Vec::with_capacity(checks.len());
        let slots = checks.iter().map(|check| {
            // a request has few checks: looking through them is quicker than a map
            places.iter().position(|(key, _)| *key == check.key).unwrap_or_else(|| {
                places.push((check.key, inner.place(&check.key)));
                places.len() - 1
            })
        });
        let slots = slots.collect();
        let mut shards: Vec<usize> = places.iter().map(|(_, place)| *place).collect();
        shards.sort_unstable();
        shards.dedup();
        // every place is among the shards
        let guard = |place: usize| shards.binary_search(&place).unwrap_or_default();
        let distinct = places.into_iter().map(|(key, place)| (key, guard(place))).collect();
        Self { slots, distinct, shards }
    }
}

// === impl Inner ===

impl Inner {
    fn place(&self, key: &StateKey) -> usize {
        self.hasher.hash_one(key) as usize % SHARDS
    }
}

// === impl Shard ===

impl Shard {
    /// What the key holds, which is then no longer held.
    fn take(&mut self, key: &StateKey) -> Option<State> {
        let held = self.states.remove(key)?;
        self.weight -= held.weight;
        Some(held.state)
    }

    /// Sweeps dead states out; each sweep is paid for by as many additions as it left states. Tells whether living
    /// ones had to go as well, for `coming` to find room: an eighth of them at a time, so that this too costs little for
    /// each addition.
    fn make_room(&mut self, now: Timestamp, bound: usize, coming: usize) -> bool {
        self.states.retain(|_, held| held.expires > now);
        self.weight = self.states.values().map(|held| held.weight).sum();
        let full = self.weight + coming > bound;
        if full {
            let mut ends: Vec<(Timestamp, usize)> =
                self.states.values().map(|held| (held.expires, held.weight)).collect();
            ends.sort_unstable();
            let mut excess = (bound / 8).max(1) + (self.weight + coming - bound - 1);
            let mut freed = 0;
            let last = ends.iter().find(|(_, weight)| {
                freed += weight;
                freed >= excess
            });
            // a log alone may weigh more than the bound: then all others go
            let last = last.or(ends.last()).map_or(now, |(end, _)| *end);
            self.states.retain(|_, held| {
                let goes = excess > 0 && held.expires <= last;
                if goes {
                    excess = excess.saturating_sub(held.weight);
                    self.weight -= held.weight;
                }
                !goes
            });
        }
        self.sweep_at = (self.states.len() * 2).max(SMALL);
        self.states.shrink_to(self.sweep_at);
        full
    }
}

/// A panic elsewhere never leaves a state half written: each is replaced as a whole.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
