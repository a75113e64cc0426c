//! Many requests packed for one call of the script. What the bytes mean is told at the head of `decide.lua`.

use crate::answer::{Asked, sum_of_costs};
use crate::bucket::Taken;
use crate::decision::Check;
use crate::exact::Exact;
use crate::key_table::KeyTable;
use crate::limit::{Algorithm, Limit};
use crate::receipt::{Charge, Receipt};
use crate::reply::{self, InvalidReply, Reply};
use crate::time::Timestamp;

/// Requests for one call of [`decide_script`](crate::decide_script): `EVALSHA digest keys… args…`.
///
/// Requests are decided in the order they were pushed, each all-or-nothing. [`clear`](Batch::clear) keeps the buffers.
///
/// ```
/// use std::time::Duration;
/// use weir_limiter::{Batch, Check, Limit, Quota};
///
/// let limit = Limit::fixed_window(Quota::new(10, Duration::from_secs(1))?);
/// let mut batch = Batch::new();
/// batch.push(&[Check { key: "weir:{shop}:a", limit, cost: 1 }]);
/// batch.push(&[Check { key: "weir:{shop}:b", limit, cost: 1 }, Check { key: "weir:{shop}:a", limit, cost: 1 }]);
/// assert_eq!((batch.len(), batch.distinct_keys()), (2, 2));
/// # Ok::<(), weir_limiter::InvalidQuota>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    keys: KeyTable,
    limits: Vec<Limit>,
    packed_limits: Vec<u8>,
    packed_groups: Vec<u8>,
    entries: Vec<Entry>,
    /// All checks of all groups.
    checks: Vec<Packed>,
}

/// What was pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A request of so many checks.
    Request(u16),
    Refund,
}

/// What the reply needs to know of a check.
#[derive(Clone, Copy, Debug)]
struct Packed {
    key: u16,
    /// Place in `limits`.
    limit: u16,
    /// Own cost.
    own: u64,
    /// What it is tried at: with what the group takes from the same key before it.
    cost: u64,
}

/// Tags of limits in the arguments and of states in the values: the script's `tag` of the same name.
const NEVER: u8 = 0;
const FIXED_WINDOW: u8 = 1;
const TOKEN_BUCKET: u8 = 2;
const LEAKY_BUCKET: u8 = 3;
const SLIDING_WINDOW: u8 = 4;
const SLIDING_LOG: u8 = 5;
/// Of a limit only: its state is the leaky bucket's.
const QUEUE: u8 = 6;

/// Kinds of entry among the groups, after a group's size of 0.
const REFUND: u8 = 1;

// === impl Batch ===

impl Batch {
    /// The most distinct keys a call should have: Redis serves nobody else while it runs.
    pub const MAX_KEYS: usize = 2_000;
    /// The most checks a group can have.
    pub const MAX_CHECKS: usize = 4_096;

    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one request: all of `group` passes and is charged, or nothing is.
    ///
    /// Before it, ask [`has_room`](Self::has_room): the batch itself takes what it is given.
    ///
    /// # Panics
    /// When a group has more than [`MAX_CHECKS`](Self::MAX_CHECKS) checks, or the batch 65,536 distinct keys or limits.
    pub fn push<K: AsRef<[u8]>>(&mut self, group: &[Check<K>]) {
        assert!(group.len() <= Self::MAX_CHECKS, "a group has at most {} checks", Self::MAX_CHECKS);
        let first = self.checks.len();
        self.entries.push(Entry::Request(group.len() as u16));
        if group.is_empty() {
            return;
        }
        self.packed_groups.extend_from_slice(&(group.len() as u16).to_le_bytes());
        for check in group {
            let key = place(self.keys.place(check.key.as_ref()));
            let limit = self.limit(&check.limit);
            let same_key = self.checks[first..].iter().filter(|before| before.key == key).map(|before| before.own);
            let packed = Packed { key, limit, own: check.cost, cost: sum_of_costs(check.cost, same_key) };
            pack_check(&mut self.packed_groups, packed, &check.limit);
            self.checks.push(packed);
        }
    }

    /// Adds a refund: what `receipt` says was taken from `key` is given back, in its place in the order, as far as it can be
    /// told apart from what others took (see [`refund`](crate::refund)).
    ///
    /// # Panics
    /// When the batch has 65,536 distinct keys.
    pub fn push_refund<K: AsRef<[u8]>>(&mut self, key: K, receipt: Receipt) {
        let key = place(self.keys.place(key.as_ref()));
        self.entries.push(Entry::Refund);
        let tag = pack_refund(&mut self.packed_groups, key, &receipt);
        self.uses(tag, REFUND);
    }

    /// Whether `checks` more checks keep the batch within [`MAX_KEYS`](Self::MAX_KEYS). An empty batch takes any group.
    pub fn has_room(&self, checks: usize) -> bool {
        self.is_empty() || self.distinct_keys() + checks <= Self::MAX_KEYS
    }

    /// How many requests and refunds.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds neither.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many distinct keys.
    pub fn distinct_keys(&self) -> usize {
        self.keys.len()
    }

    /// The distinct keys in the order of `KEYS`. None when no group has a check: then there is nothing to ask.
    pub fn keys(&self) -> Vec<&[u8]> {
        (0..self.keys.len()).map(|place| self.keys.get(place)).collect()
    }

    /// `ARGV`: the limits, then the groups.
    pub fn args(&self) -> Vec<&[u8]> {
        vec![&self.packed_limits, &self.packed_groups]
    }

    /// Empties it and keeps its buffers.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.limits.clear();
        self.packed_limits.clear();
        self.packed_groups.clear();
        self.entries.clear();
        self.checks.clear();
    }

    /// The answers to all that was pushed, in the order pushed, from the script's reply to this very batch.
    pub fn read_reply(&self, reply: &[u8]) -> Result<Reply, InvalidReply> {
        reply::read(reply, &self.entries, |check| {
            let Packed { key, limit, own, cost } = self.checks[check];
            Asked { key: usize::from(key), limit: &self.limits[usize::from(limit)], own, cost }
        })
    }

    /// The place of `limit`, which is packed when it is new. A batch has few limits, and mostly the last one again.
    fn limit(&mut self, limit: &Limit) -> u16 {
        if let Some(found) = self.limits.iter().rposition(|known| known == limit) {
            return found as u16;
        }
        self.limits.push(*limit);
        self.uses(tag(limit), 0);
        pack_limit(&mut self.packed_limits, limit);
        place(self.limits.len() - 1)
    }

    /// Notes what the script needs, which is the first that it is told.
    fn uses(&mut self, tag: u8, kind: u8) {
        if self.packed_limits.is_empty() {
            self.packed_limits.extend_from_slice(&[0, 0]);
        }
        self.packed_limits[0] |= 1 << tag;
        self.packed_limits[1] |= kind;
    }
}

/// The third, optional argument of a call in a test: the instant that stands for Redis's own clock, and the shortest
/// time to live in milliseconds. Redis expires by its real clock, which knows nothing of `now`: with too small a floor
/// states vanish before their time.
pub fn test_clock(now: Timestamp, ttl_floor_ms: u32) -> Vec<u8> {
    [(now.as_micros() as f64).to_le_bytes(), f64::from(ttl_floor_ms).to_le_bytes()].concat()
}

fn place(index: usize) -> u16 {
    assert!(index < usize::from(u16::MAX), "a batch has at most 65,535 distinct keys and limits");
    index as u16
}

fn tag(limit: &Limit) -> u8 {
    match limit.algorithm() {
        _ if limit.requests() == 0 => NEVER,
        Algorithm::FixedWindow => FIXED_WINDOW,
        Algorithm::SlidingLog => SLIDING_LOG,
        Algorithm::SlidingWindow => SLIDING_WINDOW,
        Algorithm::TokenBucket => TOKEN_BUCKET,
        Algorithm::LeakyBucket if limit.max_wait().is_some() => QUEUE,
        Algorithm::LeakyBucket => LEAKY_BUCKET,
    }
}

fn pack_limit(out: &mut Vec<u8>, limit: &Limit) {
    out.push(tag(limit));
    match limit.algorithm() {
        _ if limit.requests() == 0 => return,
        Algorithm::FixedWindow | Algorithm::SlidingLog | Algorithm::SlidingWindow => {
            out.extend_from_slice(&(limit.period() as f64).to_le_bytes());
        }
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            let tolerance = limit.tolerance();
            out.extend_from_slice(&(tolerance.whole as f64).to_le_bytes());
            out.extend_from_slice(&tolerance.numerator.to_le_bytes());
        }
    }
    out.extend_from_slice(&limit.requests().to_le_bytes());
    if let Some(wait) = limit.max_wait_micros() {
        out.extend_from_slice(&(wait as f64).to_le_bytes());
    }
}

fn pack_check(out: &mut Vec<u8>, check: Packed, limit: &Limit) {
    // more than the capacity is refused whatever it is: one unit more keeps every sum below 2^53
    let cost = check.cost.min(limit.capacity() + 1);
    let taken = match limit.algorithm() {
        _ if limit.requests() == 0 => Exact::default(),
        Algorithm::FixedWindow | Algorithm::SlidingLog | Algorithm::SlidingWindow => {
            Exact { whole: cost, numerator: 0 }
        }
        Algorithm::TokenBucket | Algorithm::LeakyBucket => limit.time_of(cost),
    };
    // KEYS counts from 1
    out.extend_from_slice(&(check.key + 1).to_le_bytes());
    out.extend_from_slice(&(check.limit + 1).to_le_bytes());
    out.extend_from_slice(&(taken.whole as f64).to_le_bytes());
    out.extend_from_slice(&taken.numerator.to_le_bytes());
}

/// Packs a refund and tells the tag of the state that it is for.
fn pack_refund(out: &mut Vec<u8>, key: u16, receipt: &Receipt) -> u8 {
    let (tag, flag, times, numbers) = match &receipt.charge {
        Charge::FixedWindow { end, period, units } => (FIXED_WINDOW, false, [*end, *period, 0], [*units, 0, 0]),
        Charge::SlidingWindow { end, period, units, began } => {
            (SLIDING_WINDOW, *began, [*end, *period, 0], [*units, 0, 0])
        }
        Charge::SlidingLog { instant, period, units } => (SLIDING_LOG, false, [*instant, *period, 0], [*units, 0, 0]),
        Charge::TokenBucket(taken) => pack_taken(TOKEN_BUCKET, taken),
        Charge::LeakyBucket(taken) => pack_taken(LEAKY_BUCKET, taken),
    };
    out.extend_from_slice(&0_u16.to_le_bytes());
    out.push(REFUND);
    out.extend_from_slice(&(key + 1).to_le_bytes());
    out.extend_from_slice(&[tag, receipt.generation, u8::from(flag)]);
    times.iter().for_each(|time| out.extend_from_slice(&(*time as f64).to_le_bytes()));
    numbers.iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
    tag
}

fn pack_taken(tag: u8, taken: &Taken) -> (u8, bool, [u64; 3], [u32; 3]) {
    let times = [taken.base.whole, taken.taken.whole, taken.given_back];
    (tag, taken.queued, times, [taken.base.numerator, taken.taken.numerator, taken.requests])
}
