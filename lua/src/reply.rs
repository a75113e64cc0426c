//! The script's reply, read back into decisions. What the bytes mean is told at the head of `decide.lua`.

use thiserror::Error;

use crate::answer::{self, Asked, Seen};
use crate::decision::Decision;
use crate::limit::{Algorithm, Limit};

/// What a call answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// One for each request, in the order pushed.
    pub decisions: Vec<Decision>,
}

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
    /// It begins with what is no instant.
    #[error("the script's reply begins with what is no instant")]
    Clock,
    /// Not what the script writes.
    #[error("check {0} of the script's reply holds what the script never writes")]
    Check(usize),
}

pub(crate) fn read<'b>(
    reply: &[u8],
    groups: &[u16],
    checks: usize,
    asked: impl Fn(usize) -> Asked<'b>,
) -> Result<Reply, InvalidReply> {
    // without a check there was nothing to ask, and nobody told the time
    let expected = if checks == 0 { 0 } else { 8 + (0..checks).map(|i| width(asked(i).limit)).sum::<usize>() };
    if reply.len() != expected {
        return Err(InvalidReply::Length { expected, actual: reply.len() });
    }
    let (now, mut rest) = if checks == 0 { (0, reply) } else { whole(reply).ok_or(InvalidReply::Clock)? };
    let mut decisions = Vec::with_capacity(groups.len());
    let (mut first, mut told) = (0, Vec::new());
    for &size in groups {
        // a request without checks passes
        let admitted = size == 0 || rest.first().is_some_and(|flag| flag % 2 == 1);
        told.clear();
        for i in first..first + usize::from(size) {
            let limit = asked(i).limit;
            let (record, after) = rest.split_at(width(limit));
            rest = after;
            told.push(seen(record, admitted, limit).ok_or(InvalidReply::Check(i))?);
        }
        decisions.push(answer::decision(now, admitted, &told, |i| asked(first + i)));
        first += usize::from(size);
    }
    Ok(Reply { decisions })
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
    if flag % 2 != u8::from(admitted) || flag >= 128 {
        return None;
    }
    let (ahead, rest) = whole(rest)?;
    let (part, rest) = count(rest)?;
    let mut seen = Seen { ahead, part, generation: flag / 2, ..Seen::default() };
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
