//! The sliding window: two windows of length P in a row, of which the earlier one weighs as much as still reaches into the
//! last P. Model of `sliding_window.lua`.
//!
//! At `elapsed` into the window a request of cost c passes when current + c + previous·(P - elapsed)/P is at most N, in
//! exact fractions. It counts as if what the window before had were spread evenly over it. Windows of a key follow each
//! other from its first request on; they are not aligned to the clock, so that keys don't all move on at once.

use std::time::Duration;

use crate::answer::{self, Seen};
use crate::decision::{Outcome, Verdict};
use crate::limit::Limit;
use crate::quota::Quota;
use crate::receipt::next_generation;

/// What a sliding window's key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    /// Microseconds since the Unix epoch; the current window is `[end - period, end)`.
    pub(crate) end: u64,
    pub(crate) current: u32,
    /// Counted in the window before.
    pub(crate) previous: u32,
    /// Microseconds.
    pub(crate) period: u64,
    pub(crate) generation: u8,
}

/// The windows as they stand under `limit` at `now`, and whether that is a repair: a state that must be written down
/// even by a refusal, for else what it is taken as would move along with the clock.
pub(crate) fn view(held: Option<Sliding>, limit: &Limit, now: u64) -> (Sliding, bool) {
    let period = limit.period();
    let generation = held.map_or(0, |held| held.generation);
    let fresh = Sliding { end: now + period, current: 0, previous: 0, period, generation };
    let Some(held) = held else {
        return (fresh, false);
    };
    let mut start = held.end.saturating_sub(held.period);
    let (mut instant, mut repair) = (now, false);
    // after a clock stepped back, the window's start goes on counting as now, unless it is more than one period ahead
    if start > now {
        if start - now > period {
            (start, repair) = (now, true);
        } else {
            instant = start;
        }
    }
    let passed = instant - start;
    let (mut current, mut previous) = (held.current, held.previous);
    if passed >= held.period {
        (current, previous) = (0, if passed - held.period < held.period { held.current } else { 0 });
        start += held.period;
    }
    if current == 0 && previous == 0 {
        return (fresh, false);
    }
    if held.period != period {
        // what weighs now is what the window before had, of a window of the new period that begins now
        let weight = weighed(previous, held.period - (instant - start), held.period);
        let most = Quota::MAX_REQUESTS;
        (current, previous) = (0, (u64::from(current) + weight).min(most) as u32);
        (start, repair) = (instant, true);
    }
    let generation = if repair { next_generation(generation) } else { generation };
    (Sliding { end: start + period, current, previous, period, generation }, repair)
}

/// The windows with `cost` counted, when there is room.
pub(crate) fn charge(sliding: Sliding, limit: &Limit, cost: u64, now: u64) -> Option<Sliding> {
    let current = u64::from(sliding.current).checked_add(cost)?;
    let room = u64::from(limit.requests()).checked_sub(current)?;
    let left = (sliding.end - now).min(sliding.period);
    let fits = u128::from(sliding.previous) * u128::from(left) <= u128::from(room) * u128::from(sliding.period);
    fits.then_some(Sliding { current: current as u32, ..sliding })
}

/// Gives `units` back that were counted in the window of that end and period, while they weigh; tells whether anything was.
///
/// Without those units the key's windows might have begun later, with another request, and where they lie matters to what
/// is counted in them. So what began them (`began`) is given back only when nothing else is left, and what is in the
/// window before only when something else in it would have held this one in its place.
pub(crate) fn refund(sliding: &mut Sliding, end: u64, period: u64, units: u32, began: bool, now: u64) -> bool {
    let (current, previous) = if sliding.end == end {
        (sliding.current.checked_sub(units), Some(sliding.previous))
    } else {
        (Some(sliding.current), sliding.previous.checked_sub(units))
    };
    let (Some(current), Some(previous)) = (current, previous) else { return false };
    let (is_there, keeps_its_place) = if sliding.end == end {
        (now < end + period, true)
    } else {
        (sliding.end == end + period && now < sliding.end, previous > 0)
    };
    let nothing_is_left = current == 0 && previous == 0;
    if sliding.period != period || !is_there || !(nothing_is_left || keeps_its_place && !began) {
        return false;
    }
    (sliding.current, sliding.previous) = (current, previous);
    true
}

/// The answer, when the window ends in `seen.ahead` microseconds (above one period: it begins after now, by a clock that
/// stepped back), and `seen.part` units are in it and `seen.previous` in the one before.
pub(crate) fn outcome(limit: &Limit, cost: u64, admitted: bool, seen: &Seen) -> Outcome {
    let (period, Seen { ahead, part: current, previous, .. }) = (limit.period(), *seen);
    let left = ahead.min(period);
    let used = u64::from(current) + weighed(previous, left, period);
    let remaining = limit.capacity().saturating_sub(used);
    let reset = match (current, previous) {
        (0, 0) => 0,
        (0, _) => ahead,
        _ => ahead + period,
    };
    let verdict = if admitted || cost <= remaining {
        Verdict::Pass
    } else if !limit.can_ever_pass(cost) {
        Verdict::Never
    } else {
        Verdict::Wait(Duration::from_micros(wait(limit, cost, seen)))
    };
    answer::outcome(verdict, remaining, reset)
}

/// How long a cost that can pass and does not pass now has to wait.
pub(crate) fn wait(limit: &Limit, cost: u64, seen: &Seen) -> u64 {
    let (period, Seen { ahead, part: current, previous, .. }) = (limit.period(), *seen);
    let left = ahead.min(period);
    // how much of a window with `count` may still reach into the last period when there is room for so many: at most
    // all of it, for this is asked where `count` is more than `room`
    let may_reach = |room: u64, count: u32| {
        (u128::from(room) * u128::from(period) / u128::from(count.max(1))).min(u128::from(period)) as u64
    };
    let room = limit.capacity() - cost;
    let from_its_start = match room.checked_sub(u64::from(current)) {
        Some(room) => left.saturating_sub(may_reach(room, previous)),
        // not in this window: in the next one, where what is in this one weighs less and less
        None => left + period - may_reach(room, current),
    };
    ahead - left + from_its_start
}

/// Units of `count` that still weigh when `left` of `period` is left, rounded up.
fn weighed(count: u32, left: u64, period: u64) -> u64 {
    // at most the count, for no more is left than there is
    (u128::from(count) * u128::from(left)).div_ceil(u128::from(period)) as u64
}

/// When nothing that was counted weighs any more.
pub(crate) fn expires(sliding: Sliding) -> u64 {
    if sliding.current > 0 { sliding.end + sliding.period } else { sliding.end }
}
