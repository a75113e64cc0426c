//! The script's reply, read back into decisions. What the bytes mean is told at the head of `decide.lua`.

use thiserror::Error;

use crate::answer::{self, Asked, Seen};
use crate::batch::Entry;
use crate::decision::Decision;
use crate::limit::{Algorithm, Limit};

/// What a call answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Reply {
    /// One for each request, in the order pushed.
    pub decisions: Vec<Decision>,
    /// One for each refund, in the order pushed: whether anything was given back.
    pub refunds: Vec<bool>,
}

/// Below this every whole number is exact in a double.
const EXACT: f64 = (1_u64 << 53) as f64;

/// Why a reply is not one to the batch it was read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidReply {
    /// It goes on after the last entry.
    #[error("the script's reply has {0} bytes more than this batch wants")]
    TooLong(usize),
    /// It begins with what is no instant.
    #[error("the script's reply begins with what is no instant")]
    Clock,
    /// Cut off, or not what the script writes.
    #[error("entry {0} of the script's reply is cut off, or what the script never writes")]
    Entry(usize),
}

/// Reads the reply to `entries`, whose checks `asked` knows by their place.
pub(crate) fn read<'b>(
    reply: &[u8],
    entries: &[Entry],
    asked: impl Fn(usize) -> Asked<'b>,
) -> Result<Reply, InvalidReply> {
    let mut read = Reply { decisions: Vec::with_capacity(entries.len()), refunds: Vec::new() };
    // where there was nothing to ask, nobody told the time
    let (now, mut rest) = match reply {
        [] => (0, reply),
        _ => whole(reply).ok_or(InvalidReply::Clock)?,
    };
    let (mut first, mut told) = (0, Vec::new());
    for (i, entry) in entries.iter().enumerate() {
        match *entry {
            Entry::Request(size) => {
                // a request without checks passes
                let admitted = size == 0 || rest.first().is_some_and(|flag| flag % 2 == 1);
                let asked = |check| asked(first + check);
                rest = group(rest, admitted, size, asked, &mut told).ok_or(InvalidReply::Entry(i))?;
                read.decisions.push(answer::decision(now, admitted, &told, asked));
                first += usize::from(size);
            }
            Entry::Coalesced { size, asked: times } => {
                let asked = |check| asked(first + check);
                rest = coalesced(now, rest, size, times, asked, &mut read.decisions).ok_or(InvalidReply::Entry(i))?;
                first += usize::from(size);
            }
            Entry::Refund => {
                let (&flag, after) = rest.split_first().filter(|(flag, _)| **flag < 2).ok_or(InvalidReply::Entry(i))?;
                rest = after;
                read.refunds.push(flag == 1);
            }
        }
    }
    if rest.is_empty() { Ok(read) } else { Err(InvalidReply::TooLong(rest.len())) }
}

/// Reads the numbers of a group's checks into `told` and tells what follows; none when they are not what the script writes.
fn group<'r, 'b>(
    mut rest: &'r [u8],
    admitted: bool,
    size: u16,
    asked: impl Fn(usize) -> Asked<'b>,
    told: &mut Vec<Seen>,
) -> Option<&'r [u8]> {
    told.clear();
    for check in 0..usize::from(size) {
        let (seen, after) = seen(rest, admitted, asked(check).limit)?;
        rest = after;
        told.push(seen);
    }
    Some(rest)
}

/// The decisions about a group that was asked `times` times in a row, and what follows. The script tells the last that was
/// admitted, of which those before it follow, and what all were told that were refused.
fn coalesced<'r, 'b>(
    now: u64,
    reply: &'r [u8],
    size: u16,
    times: u16,
    asked: impl Fn(usize) -> Asked<'b> + Copy,
    decisions: &mut Vec<Decision>,
) -> Option<&'r [u8]> {
    let (admitted, mut rest) = reply.split_first_chunk().map(|(first, rest)| (u16::from_le_bytes(*first), rest))?;
    let refused = times.checked_sub(admitted)?;
    let (mut last, mut earlier) = (Vec::new(), Vec::new());
    if admitted > 0 {
        rest = group(rest, true, size, asked, &mut last)?;
        // what was before the first was something too
        last.iter().enumerate().try_for_each(|(check, seen)| seen.before(asked(check), admitted).map(drop))?;
        for charges in (0..admitted).rev() {
            earlier.clear();
            for (check, seen) in last.iter().enumerate() {
                earlier.push(seen.before(asked(check), charges)?);
            }
            decisions.push(answer::decision(now, true, &earlier, asked));
        }
    }
    if refused > 0 {
        rest = group(rest, false, size, asked, &mut last)?;
        decisions.extend((0..refused).map(|_| answer::decision(now, false, &last, asked)));
    }
    Some(rest)
}

/// The numbers of one check, and what follows; none when they are not numbers or the check is told otherwise than its
/// group.
fn seen<'r>(record: &'r [u8], admitted: bool, limit: &Limit) -> Option<(Seen, &'r [u8])> {
    let (&flag, rest) = record.split_first()?;
    if flag % 2 != u8::from(admitted) {
        return None;
    }
    let (ahead, rest) = whole(rest)?;
    let (part, mut rest) = count(rest)?;
    let mut seen = Seen { ahead, part, generation: flag / 2 % 64, ..Seen::default() };
    match limit.algorithm() {
        _ if limit.requests() == 0 => {}
        Algorithm::FixedWindow => {}
        Algorithm::SlidingWindow => (seen.previous, rest) = count(rest)?,
        Algorithm::SlidingLog => (seen.wait, rest) = whole(rest)?,
        Algorithm::TokenBucket | Algorithm::LeakyBucket if flag < GAVE_BACK => {}
        Algorithm::TokenBucket | Algorithm::LeakyBucket => (seen.given_back, rest) = whole(rest)?,
    }
    Some((seen, rest))
}

/// In a bucket's flag: it is told what was given back.
const GAVE_BACK: u8 = 128;

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
