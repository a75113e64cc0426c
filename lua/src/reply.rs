//! The script's reply, read back into decisions. What the bytes mean is told at the head of `decide.lua`.

use thiserror::Error;

use crate::batch::Packed;
use crate::decision::Decision;
use crate::limit::{Algorithm, Limit};
use crate::model::{Seen, derive};

/// Below this every whole number is exact in a double.
const EXACT: f64 = (1_u64 << 53) as f64;

/// Why a reply is not one to the batch it was read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidReply {
    /// Another length.
    #[error("the script's reply has {actual} bytes, not the {expected} of this batch")]
    Length {
        /// What the batch wants.
        expected: usize,
        /// What came.
        actual: usize,
    },
    /// Not what the script writes.
    #[error("check {0} of the script's reply holds what the script never writes")]
    Check(usize),
}

pub(crate) fn read<'b>(
    reply: &[u8],
    groups: &[u16],
    checks: &[Packed],
    limit: impl Fn(&Packed) -> &'b Limit,
) -> Result<Vec<Decision>, InvalidReply> {
    let expected = checks.iter().map(|check| width(limit(check))).sum();
    if reply.len() != expected {
        return Err(InvalidReply::Length { expected, actual: reply.len() });
    }
    let mut decisions = Vec::with_capacity(groups.len());
    let (mut next, mut rest) = (0, reply);
    for &size in groups {
        let range = next..next + usize::from(size);
        next = range.end;
        // a request without checks passes
        let admitted = size == 0 || rest.first() == Some(&1);
        let mut outcomes = Vec::with_capacity(range.len());
        for i in range {
            let limit = limit(&checks[i]);
            let (record, after) = rest.split_at(width(limit));
            rest = after;
            let seen = seen(record, admitted, limit).ok_or(InvalidReply::Check(i))?;
            outcomes.push(derive(limit, checks[i].cost, admitted, seen));
        }
        decisions.push(Decision { admitted, outcomes });
    }
    Ok(decisions)
}

/// Bytes of one check in the reply.
fn width(limit: &Limit) -> usize {
    match limit.algorithm() {
        _ if limit.requests() == 0 => 13,
        Algorithm::FixedWindow | Algorithm::TokenBucket | Algorithm::LeakyBucket => 13,
        Algorithm::SlidingWindow => 17,
        Algorithm::SlidingLog => 21,
    }
}

/// The numbers of one check; none when they are not numbers or the check is told otherwise than its group.
fn seen(record: &[u8], admitted: bool, limit: &Limit) -> Option<Seen> {
    let (&flag, rest) = record.split_first()?;
    if flag != u8::from(admitted) {
        return None;
    }
    let (ahead, rest) = whole(rest)?;
    let (part, rest) = count(rest)?;
    let mut seen = Seen { ahead, part, ..Seen::default() };
    match limit.algorithm() {
        _ if limit.requests() == 0 => {}
        Algorithm::SlidingWindow => (seen.previous, _) = count(rest)?,
        Algorithm::SlidingLog => (seen.wait, _) = whole(rest)?,
        Algorithm::FixedWindow | Algorithm::TokenBucket | Algorithm::LeakyBucket => {}
    }
    Some(seen)
}

/// A whole number in a double, and what follows it.
fn whole(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    let number = f64::from_le_bytes(*first);
    ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then_some((number as u64, rest))
}

/// A number of four bytes, and what follows it.
fn count(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (first, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*first), rest))
}
