//! The fixed window: at most N in each window of length P, aligned to the Unix epoch. Model of `fixed_window.lua`.
//!
//! State: the window's end, its period, and the units counted in it. After an edit of P, what was counted in a window
//! that reaches into the present one is carried into it: stricter than it need be until that window ends, never laxer.

use std::time::Duration;

use crate::answer::{self, Seen};
use crate::decision::{Outcome, Verdict};
use crate::limit::Limit;
use crate::receipt::next_generation;

/// What a fixed window's key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Microseconds since the Unix epoch; the window is `[end - period, end)`.
    pub(crate) end: u64,
    pub(crate) count: u32,
    /// Microseconds.
    pub(crate) period: u64,
    pub(crate) generation: u8,
}

/// The window as it stands under `limit` at `now`, and whether that is a repair: a state that must be written down
/// even by a refusal, for else what it is taken as would move along with the clock.
pub(crate) fn view(held: Option<Window>, limit: &Limit, now: u64) -> (Window, bool) {
    let period = limit.period();
    let aligned = |instant: u64| Window { end: instant - instant % period + period, count: 0, period, generation: 0 };
    let Some(held) = held else {
        return (aligned(now), false);
    };
    let (count, generation) = (held.count, held.generation);
    let start = held.end.saturating_sub(held.period);
    // after a clock stepped back, its newest instant goes on counting as now, unless it is more than one period ahead
    if start > now && start - now > period {
        return (Window { count, generation: next_generation(generation), ..aligned(now) }, true);
    }
    let current = Window { generation, ..aligned(now.max(start)) };
    if held.end <= current.end - period {
        return (current, false);
    }
    if held.period != period {
        return (Window { count, generation: next_generation(generation), ..current }, true);
    }
    (Window { count, ..current }, false)
}

/// The window with `cost` counted, when there is room.
pub(crate) fn charge(window: Window, limit: &Limit, cost: u64) -> Option<Window> {
    let count = u64::from(window.count).saturating_add(cost);
    if count > u64::from(limit.requests()) {
        return None;
    }
    Some(Window { count: u32::try_from(count).ok()?, ..window })
}

/// Gives `units` back to the window of that end and period, while it lasts; tells whether anything was.
pub(crate) fn refund(window: &mut Window, end: u64, period: u64, units: u32, now: u64) -> bool {
    let is_there = window.end == end && window.period == period && end > now;
    if !is_there || window.count == 0 {
        return false;
    }
    window.count = window.count.saturating_sub(units);
    true
}

/// The answer, when the window ends in `seen.ahead` microseconds and `seen.part` units are in it.
pub(crate) fn outcome(limit: &Limit, cost: u64, admitted: bool, seen: &Seen) -> Outcome {
    let remaining = limit.capacity().saturating_sub(u64::from(seen.part));
    let verdict = if admitted || cost <= remaining {
        Verdict::Pass
    } else if !limit.can_ever_pass(cost) {
        Verdict::Never
    } else {
        // the next window is empty, and whatever can pass at all passes in an empty window
        Verdict::Wait(Duration::from_micros(seen.ahead))
    };
    answer::outcome(verdict, remaining, seen.ahead)
}

/// When the window stops mattering under `limit`: at the first window of its period that the counts don't reach into.
pub(crate) fn expires(window: Window, limit: &Limit) -> u64 {
    window.end.div_ceil(limit.period()) * limit.period()
}
