//! Many requests packed for one call of the script. What the bytes mean is told at the head of `decide.lua`.

use crate::answer::{Asked, sum_of_costs};
use crate::decision::Check;
use crate::key_table::KeyTable;
use crate::limit::Limit;
use crate::packed::{COALESCED, Packed, REFUND, pack_check, pack_limit, pack_refund, tag};
use crate::receipt::Receipt;
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
    /// Requests and refunds in all entries.
    len: usize,
    /// All checks of all groups.
    checks: Vec<Packed>,
}

/// What was pushed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entry {
    /// A request of so many checks.
    Request(u16),
    /// A request of so many checks, asked so many times in a row.
    Coalesced {
        size: u16,
        asked: u16,
    },
    Refund,
}

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
        let size = Self::size_of(group);
        self.entries.push(Entry::Request(size));
        self.len += 1;
        if size > 0 {
            self.packed_groups.extend_from_slice(&size.to_le_bytes());
            self.add_checks(group);
        }
    }

    /// Adds the same request `asked` times in a row: the answers, of which there are as many, and what the keys hold
    /// afterwards are those of as many calls of [`push`](Self::push). Redis decides all of them in one step where
    /// the group [`coalesces`](Self::coalesces).
    ///
    /// # Panics
    /// As [`push`](Self::push).
    pub fn push_many<K: AsRef<[u8]>>(&mut self, group: &[Check<K>], asked: u16) {
        let size = Self::size_of(group);
        if asked < 2 || !Self::coalesces(group) {
            (0..asked).for_each(|_| self.push(group));
            return;
        }
        self.entries.push(Entry::Coalesced { size, asked });
        self.len += usize::from(asked);
        self.packed_groups.extend_from_slice(&[0, 0, COALESCED]);
        [asked, size].iter().for_each(|number| self.packed_groups.extend_from_slice(&number.to_le_bytes()));
        self.add_checks(group);
        self.uses(0, COALESCED);
    }

    /// Whether this group, asked often, is one entry: not when it has several checks on one key or one under N = 0.
    pub fn coalesces<K: AsRef<[u8]>>(group: &[Check<K>]) -> bool {
        let alone =
            |(i, check): (usize, &Check<K>)| group[..i].iter().all(|other| other.key.as_ref() != check.key.as_ref());
        !group.is_empty() && group.iter().all(|check| check.limit.requests() > 0) && group.iter().enumerate().all(alone)
    }

    /// Adds a refund: what `receipt` says was taken from `key` is given back, in its place in the order, as far as it can be
    /// told apart from what others took (see [`refund`](crate::refund)).
    ///
    /// # Panics
    /// When the batch has 65,536 distinct keys.
    pub fn push_refund<K: AsRef<[u8]>>(&mut self, key: K, receipt: Receipt) {
        let key = place(self.keys.place(key.as_ref()));
        self.entries.push(Entry::Refund);
        self.len += 1;
        let tag = pack_refund(&mut self.packed_groups, key, &receipt);
        self.uses(1 << tag, REFUND);
    }

    /// Whether `checks` more checks keep the batch within [`MAX_KEYS`](Self::MAX_KEYS). An empty batch takes any group.
    pub fn has_room(&self, checks: usize) -> bool {
        self.is_empty() || self.distinct_keys() + checks <= Self::MAX_KEYS
    }

    /// How many requests and refunds.
    pub fn len(&self) -> usize {
        self.len
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
        self.len = 0;
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
        self.uses(1 << tag(limit), 0);
        pack_limit(&mut self.packed_limits, limit);
        place(self.limits.len() - 1)
    }

    /// The number of checks of a group.
    fn size_of<K>(group: &[Check<K>]) -> u16 {
        assert!(group.len() <= Self::MAX_CHECKS, "a group has at most {} checks", Self::MAX_CHECKS);
        group.len() as u16
    }

    fn add_checks<K: AsRef<[u8]>>(&mut self, group: &[Check<K>]) {
        let first = self.checks.len();
        for check in group {
            let key = place(self.keys.place(check.key.as_ref()));
            let limit = self.limit(&check.limit);
            let same_key = self.checks[first..].iter().filter(|before| before.key == key).map(|before| before.own);
            let packed = Packed { key, limit, own: check.cost, cost: sum_of_costs(check.cost, same_key) };
            pack_check(&mut self.packed_groups, packed, &check.limit);
            self.checks.push(packed);
        }
    }

    /// Notes what the script needs, which is the first that it is told: bits of tags, and a kind of entry.
    fn uses(&mut self, tags: u8, kind: u8) {
        if self.packed_limits.is_empty() {
            self.packed_limits.extend_from_slice(&[0, 0]);
        }
        self.packed_limits[0] |= tags;
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
