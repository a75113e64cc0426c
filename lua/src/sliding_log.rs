//! The sliding log: the instant of every unit of the last P, so that no length of P ever has more than N. Model of
//! `sliding_log.lua`, which keeps the same units in a ring.

use std::collections::VecDeque;
use std::time::Duration;

use crate::answer::{self, Seen};
use crate::decision::{Outcome, Verdict};
use crate::limit::Limit;
use crate::receipt::next_generation;

/// What a sliding log's key holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// The instant of each unit, oldest first: microseconds since the Unix epoch. Those that have passed stay until the
    /// next charge.
    units: VecDeque<u64>,
    /// Units charged since the log began.
    total: u64,
    pub(crate) generation: u8,
}

/// A log as a check sees it. Made of numbers, so that trying a check copies no log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Units charged since the log began.
    total: u64,
    /// Units of the last P.
    pub(crate) live: u32,
    /// µs from now until none of them is in the last P.
    pub(crate) ahead: u64,
    /// µs from now until the cost that was refused has room; else until more units are left.
    pub(crate) wait: u64,
    now: u64,
    /// What counts as now: the newest instant where the clock stepped back.
    instant: u64,
    /// Units charged by this check.
    charged: u32,
    /// The newest instant is too far ahead: what is later than `instant` is taken as that.
    cut: bool,
    pub(crate) generation: u8,
}

/// The log as it stands under `limit` at `now`, and whether that is a repair: a state that must be written down even by a
/// refusal, for else what it is taken as would move along with the clock.
pub(crate) fn view(held: Option<&Log>, limit: &Limit, now: u64) -> (Sight, bool) {
    let period = limit.period();
    let (total, generation) = held.map_or((0, 0), |log| (log.total, log.generation));
    let mut sight = Sight { total, live: 0, ahead: 0, wait: 0, now, instant: now, charged: 0, cut: false, generation };
    let Some((log, newest)) = held.and_then(|log| Some((log, *log.units.back()?))) else {
        return (sight, false);
    };
    // after a clock stepped back, its newest instant goes on counting as now, unless it is more than one period ahead
    sight.cut = newest > now + period;
    if sight.cut {
        sight.generation = next_generation(generation);
    } else {
        sight.instant = newest.max(now);
    }
    let passed = log.units.partition_point(|unit| unit + period <= sight.instant);
    sight.live = (log.units.len() - passed) as u32;
    if sight.live > 0 {
        sight.ahead = sight.taken_as(newest) + period - now;
        // the oldest one has to pass; when N was larger, as many more as there are too many
        let next_to_pass = passed + u64::from(sight.live).saturating_sub(limit.capacity()) as usize;
        sight.wait = log.units.get(next_to_pass).map_or(0, |unit| sight.taken_as(*unit) + period - now);
    }
    (sight, sight.cut)
}

/// The log with `cost` units more, or what it looks like with the wait until they have room.
pub(crate) fn charge(held: Option<&Log>, sight: Sight, limit: &Limit, cost: u64, now: u64) -> Result<Sight, Sight> {
    if cost == 0 {
        return Ok(sight);
    }
    let (capacity, period) = (limit.capacity(), limit.period());
    let live = u64::from(sight.live).saturating_add(cost);
    if live <= capacity {
        let charged = cost as u32;
        let ahead = sight.instant + period - now;
        let wait = if sight.live > 0 { sight.wait } else { ahead };
        return Ok(Sight { total: sight.total + cost, live: live as u32, ahead, wait, charged, ..sight });
    }
    // the cost fits once this unit has passed; of the live ones it is as far from the oldest as units are too many
    let last_to_pass = live - capacity - 1;
    let unit = held.filter(|_| cost <= capacity).and_then(|log| {
        let passed = log.units.len() - sight.live as usize;
        log.units.get(passed + last_to_pass as usize)
    });
    let wait = unit.map_or(0, |unit| sight.taken_as(*unit) + period - now);
    Err(Sight { wait, ..sight })
}

/// The answer, when `seen.part` units are in the last P, the newest of them for `seen.ahead` more, and what was refused
/// fits in `seen.wait`.
pub(crate) fn outcome(limit: &Limit, cost: u64, admitted: bool, seen: &Seen) -> Outcome {
    let remaining = limit.capacity().saturating_sub(u64::from(seen.part));
    let verdict = if admitted || cost <= remaining {
        Verdict::Pass
    } else if !limit.can_ever_pass(cost) {
        Verdict::Never
    } else {
        Verdict::Wait(Duration::from_micros(seen.wait))
    };
    answer::outcome(verdict, remaining, seen.ahead)
}

/// When the newest unit has passed.
pub(crate) fn expires(log: &Log, limit: &Limit) -> u64 {
    log.units.back().map_or(0, |newest| newest + limit.period())
}

// === impl Sight ===

impl Sight {
    fn taken_as(&self, unit: u64) -> u64 {
        if self.cut { unit.min(self.instant) } else { unit }
    }
}

// === impl Log ===

impl Log {
    /// Bytes of the room that it has for instants.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.units.capacity() * size_of::<u64>()
    }

    /// Gives back `units` that were charged at `instant`, while they are in the last `period`; tells whether anything was.
    /// Units of one instant are as good as each other. The newest and the oldest go; those between become as old as the
    /// one before them, for no slot of the ring is ever moved.
    pub(crate) fn refund(&mut self, instant: u64, period: u64, units: u32, now: u64) -> bool {
        let first = self.units.partition_point(|unit| *unit < instant);
        let after = self.units.partition_point(|unit| *unit <= instant);
        let given = (after - first).min(units as usize);
        if given == 0 || instant + period <= now {
            return false;
        }
        if after == self.units.len() {
            self.units.truncate(after - given);
            self.total = self.total.saturating_sub(given as u64);
        } else if let Some(before) = first.checked_sub(1).map(|before| self.units[before]) {
            self.units.range_mut(first..first + given).for_each(|unit| *unit = before);
        } else {
            self.units.drain(..given);
        }
        true
    }

    /// Makes it what `sight` says: what has passed goes, what is too far ahead is cut, what was charged comes.
    pub(crate) fn become_as(&mut self, sight: Sight) {
        if sight.cut {
            let later = self.units.partition_point(|unit| *unit <= sight.instant);
            self.units.range_mut(later..).for_each(|unit| *unit = sight.instant);
        }
        self.generation = sight.generation;
        // several checks on one log: each tells the sum of the costs so far, and an earlier one may have cut it
        let more = sight.total.saturating_sub(self.total).min(u64::from(sight.charged));
        let newest = self.units.back().map_or(sight.now, |newest| sight.now.max(*newest));
        self.units.extend(std::iter::repeat_n(newest, more as usize));
        self.total = self.total.max(sight.total);
        self.units.drain(..self.units.len().saturating_sub(sight.live as usize));
    }
}
