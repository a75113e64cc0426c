//! Made-up limits, costs and gaps over all that a limit accepts, with weight on the edges.

use std::time::Duration;

use proptest::prelude::*;
use weir_limiter::{Algorithm, Decision, Limit, Quota, Timestamp, Verdict};

pub(crate) const YEAR: u64 = 365 * 24 * 3600 * 1_000_000;
/// Where histories begin, give or take: some day in 2027.
pub(crate) const START: u64 = 1_800_000_000_000_000;

/// Whole numbers from `least` to `most`, each order of magnitude as likely as any other.
fn magnitudes(least: u64, most: u64) -> impl Strategy<Value = u64> {
    let bits = 64 - (most - least).leading_zeros();
    (0..=bits, any::<u64>()).prop_map(move |(bits, noise)| {
        let below = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        least + (noise & below).min(most - least)
    })
}

fn periods() -> impl Strategy<Value = u64> {
    let most = Quota::MAX_PERIOD.as_micros() as u64;
    prop_oneof![Just(1_000), Just(1_000_000), Just(3_600_000_000), Just(most), magnitudes(1_000, most)]
}

fn quotas() -> impl Strategy<Value = Quota> {
    let requests =
        prop_oneof![1 => Just(0), 8 => 1..10_u64, 2 => Just(1_000_000_000), 8 => magnitudes(1, 1_000_000_000)];
    (requests, periods()).prop_map(|(n, p)| Quota::new(n, Duration::from_micros(p)).expect("in range"))
}

pub(crate) fn fixed_windows() -> impl Strategy<Value = Limit> {
    quotas().prop_map(Limit::fixed_window)
}

pub(crate) fn sliding_logs() -> impl Strategy<Value = Limit> {
    let requests =
        prop_oneof![1 => Just(0), 12 => 1..10_u64, 1 => Just(Limit::MAX_LOG), 4 => magnitudes(1, Limit::MAX_LOG)];
    (requests, periods()).prop_map(|(n, p)| {
        let quota = Quota::new(n, Duration::from_micros(p)).expect("in range");
        Limit::sliding_log(quota).expect("in range")
    })
}

pub(crate) fn sliding_windows() -> impl Strategy<Value = Limit> {
    quotas().prop_map(Limit::sliding_window)
}

type Bucket = fn(Quota, u64) -> Result<Limit, weir_limiter::InvalidLimit>;

fn buckets_by(make: Bucket) -> impl Strategy<Value = Limit> {
    let bursts = prop_oneof![1..10_u64, magnitudes(1, Limit::MAX_BURST), Just(Limit::MAX_BURST)];
    (quotas(), bursts).prop_map(move |(quota, burst)| match make(quota, burst) {
        Err(weir_limiter::InvalidLimit::TooSlow { most, .. }) => make(quota, most).expect("as told"),
        limit => limit.expect("in range"),
    })
}

pub(crate) fn token_buckets() -> impl Strategy<Value = Limit> {
    buckets_by(Limit::token_bucket)
}

pub(crate) fn leaky_buckets() -> impl Strategy<Value = Limit> {
    buckets_by(Limit::leaky_bucket)
}

pub(crate) fn queues() -> impl Strategy<Value = Limit> {
    let longest = Limit::MAX_WAIT.as_micros() as u64;
    let waits = prop_oneof![Just(0), Just(longest), magnitudes(0, longest)];
    let bursts = prop_oneof![2 => Just(None), 1 => (1..10_u64).prop_map(Some), 1 => magnitudes(1, Limit::MAX_BURST).prop_map(Some)];
    (quotas(), bursts, waits).prop_map(|(quota, burst, wait)| {
        match Limit::leaky_queue(quota, burst, Duration::from_micros(wait)) {
            Err(weir_limiter::InvalidLimit::TooSlow { most, .. }) => {
                Limit::leaky_queue(quota, Some(most), Duration::from_micros(wait)).expect("as told")
            }
            limit => limit.expect("in range"),
        }
    })
}

/// Leaky buckets of both kinds: their state is the same.
pub(crate) fn leaky() -> impl Strategy<Value = Limit> {
    prop_oneof![leaky_buckets(), queues()]
}

pub(crate) fn buckets() -> impl Strategy<Value = Limit> {
    prop_oneof![token_buckets(), leaky()]
}

/// Any limit there is.
pub(crate) fn limits() -> impl Strategy<Value = Limit> {
    prop_oneof![fixed_windows(), sliding_logs(), sliding_windows(), token_buckets(), leaky()]
}

/// Each algorithm, without a queue, with a capacity of `requests`.
pub(crate) fn variants(requests: u64, period: Duration) -> Vec<Limit> {
    let quota = Quota::new(requests, period).expect("in range");
    vec![
        Limit::fixed_window(quota),
        Limit::sliding_log(quota).expect("in range"),
        Limit::sliding_window(quota),
        Limit::token_bucket(quota, requests).expect("in range"),
        Limit::leaky_bucket(quota, requests).expect("in range"),
    ]
}

/// Edits of one algorithm: another algorithm is another key.
pub(crate) fn edits() -> impl Strategy<Value = Vec<Limit>> {
    prop_oneof![
        prop::collection::vec(fixed_windows(), 3),
        prop::collection::vec(sliding_logs(), 3),
        prop::collection::vec(sliding_windows(), 3),
        prop::collection::vec(token_buckets(), 3),
        prop::collection::vec(leaky(), 3),
    ]
}

/// Edits of one algorithm that leave a window's or a log's period as it is: what was counted is not carried over.
pub(crate) fn edits_of_one_period() -> impl Strategy<Value = Vec<Limit>> {
    let others = prop::collection::vec(prop_oneof![1..10_u64, magnitudes(1, Limit::MAX_LOG)], 2);
    let windows = prop_oneof![fixed_windows(), sliding_windows(), sliding_logs()];
    let windows = (windows, others).prop_map(|(first, others)| {
        let other = |n: u64| {
            let quota = Quota::new(n, first.quota().period()).expect("in range");
            match first.algorithm() {
                Algorithm::FixedWindow => Limit::fixed_window(quota),
                Algorithm::SlidingLog => Limit::sliding_log(quota).expect("in range"),
                _ => Limit::sliding_window(quota),
            }
        };
        std::iter::once(first).chain(others.into_iter().map(other)).collect()
    });
    prop_oneof![
        3 => windows,
        1 => prop::collection::vec(token_buckets(), 3),
        1 => prop::collection::vec(leaky_buckets(), 3),
        1 => prop::collection::vec(queues(), 3),
        1 => prop::collection::vec(leaky(), 3),
    ]
}

/// A cost, told by what it is to the limit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    Units(u64),
    /// So many thousandths of the capacity.
    Share(u64),
    /// One more than can ever pass.
    TooMuch,
}

pub(crate) fn costs() -> impl Strategy<Value = Cost> {
    prop_oneof![
        8 => Just(Cost::Units(1)),
        2 => Just(Cost::Units(0)),
        4 => magnitudes(0, u64::MAX).prop_map(Cost::Units),
        8 => (1..=1_000_u64).prop_map(Cost::Share),
        1 => Just(Cost::TooMuch),
    ]
}

impl Cost {
    pub(crate) fn of(self, limit: &Limit) -> u64 {
        match self {
            Self::Units(units) => units,
            Self::Share(thousandths) => (limit.capacity() * thousandths / 1000).max(1),
            Self::TooMuch => limit.capacity() + 1,
        }
    }
}

/// How the clock goes on from one step to the next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gap {
    Forward(u64),
    Back(u64),
    /// So many thousandths of the limit's period.
    Period(u64),
    /// So many thousandths of what one request takes.
    Request(u64),
    /// The last refusal's wait, or one µs less.
    Wait {
        early: bool,
    },
    /// The last answer's reset, or one µs less.
    Reset {
        early: bool,
    },
}

pub(crate) fn gaps(backward: bool) -> impl Strategy<Value = Gap> {
    let back = if backward { 2 } else { 0 };
    prop_oneof![
        6 => Just(Gap::Forward(0)),
        2 => Just(Gap::Forward(1)),
        2 => magnitudes(0, 12 * YEAR).prop_map(Gap::Forward),
        4 => (0..=3_000_u64).prop_map(Gap::Period),
        4 => (0..=5_000_u64).prop_map(Gap::Request),
        4 => any::<bool>().prop_map(|early| Gap::Wait { early }),
        2 => any::<bool>().prop_map(|early| Gap::Reset { early }),
        back => magnitudes(0, YEAR).prop_map(Gap::Back),
        back => (0..=3_000_u64).prop_map(Gap::Back),
    ]
}

impl Gap {
    pub(crate) fn after(self, now: u64, limit: &Limit, last: Option<&Decision>) -> u64 {
        let period = limit.quota().period().as_micros() as u64;
        let early = |micros: u64, early: bool| micros.saturating_sub(u64::from(early));
        let next = match self {
            Self::Forward(micros) => now.saturating_add(micros),
            Self::Back(micros) => now.saturating_sub(micros),
            Self::Period(thousandths) => now + period / 1000 * thousandths,
            Self::Request(thousandths) => {
                now + (u128::from(period) * u128::from(thousandths)
                    / 1000
                    / u128::from(limit.quota().requests().max(1))) as u64
            }
            Self::Wait { early: is_early } => now + early(last.and_then(longest_wait).unwrap_or(0), is_early),
            Self::Reset { early: is_early } => {
                let reset = last.and_then(|decision| decision.outcomes.first());
                now + early(reset.map_or(0, |outcome| outcome.reset.as_micros() as u64), is_early)
            }
        };
        Timestamp::from_micros(next).as_micros()
    }
}

fn longest_wait(decision: &Decision) -> Option<u64> {
    let waits = decision.outcomes.iter().filter_map(|outcome| match outcome.verdict {
        Verdict::Wait(wait) => Some(wait.as_micros() as u64),
        _ => None,
    });
    waits.max()
}
