//! The script's reply, read back into decisions. What the bytes mean is told at the head of `decide.lua`.

use thiserror::Error;

use crate::batch::Packed;
use crate::decision::Decision;
use crate::limit::Limit;
use crate::model::{Seen, derive};

/// Bytes of one check in the reply: admitted (1), ahead (8), part (4).
const WIDTH: usize = 13;
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
    let (records, rest) = reply.as_chunks::<WIDTH>();
    if records.len() != checks.len() || !rest.is_empty() {
        return Err(InvalidReply::Length { expected: checks.len() * WIDTH, actual: reply.len() });
    }
    let mut decisions = Vec::with_capacity(groups.len());
    let mut next = 0;
    for &size in groups {
        let range = next..next + usize::from(size);
        next = range.end;
        // a request without checks passes
        let admitted = records.get(range.start).is_none_or(|first| size == 0 || first[0] == 1);
        let mut outcomes = Vec::with_capacity(range.len());
        for i in range {
            let seen = numbers(&records[i], admitted).ok_or(InvalidReply::Check(i))?;
            outcomes.push(derive(limit(&checks[i]), checks[i].cost, admitted, seen));
        }
        decisions.push(Decision { admitted, outcomes });
    }
    Ok(decisions)
}

/// The two numbers of one check; none when they are not numbers or the check is told otherwise than its group.
fn numbers(record: &[u8; WIDTH], admitted: bool) -> Option<Seen> {
    let [flag, a0, a1, a2, a3, a4, a5, a6, a7, p0, p1, p2, p3] = *record;
    let ahead = f64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]);
    let whole = (0.0..EXACT).contains(&ahead) && ahead.fract() == 0.0;
    (flag == u8::from(admitted) && whole)
        .then(|| Seen { ahead: ahead as u64, part: u32::from_le_bytes([p0, p1, p2, p3]) })
}
