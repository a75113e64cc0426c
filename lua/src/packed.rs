//! The bytes of limits, checks and refunds in a call's arguments. What they mean is told at the head of `decide.lua`.

use crate::bucket::Taken;
use crate::exact::Exact;
use crate::limit::{Algorithm, Limit};
use crate::receipt::{Charge, Receipt};

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
pub(crate) const REFUND: u8 = 1;
pub(crate) const COALESCED: u8 = 2;

/// What the reply needs to know of a check.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed {
    pub(crate) key: u16,
    /// Place in `limits`.
    pub(crate) limit: u16,
    /// Own cost.
    pub(crate) own: u64,
    /// What it is tried at: with what the group takes from the same key before it.
    pub(crate) cost: u64,
}

pub(crate) fn tag(limit: &Limit) -> u8 {
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

pub(crate) fn pack_limit(out: &mut Vec<u8>, limit: &Limit) {
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

pub(crate) fn pack_check(out: &mut Vec<u8>, check: Packed, limit: &Limit) {
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
pub(crate) fn pack_refund(out: &mut Vec<u8>, key: u16, receipt: &Receipt) -> u8 {
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
