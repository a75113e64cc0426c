//! A quota with the algorithm that enforces it. Not whom it applies to: that is the policy's.

use std::time::Duration;

use thiserror::Error;

use crate::exact::Exact;
use crate::quota::Quota;

/// How a quota is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// At most N in each window; windows are aligned to the Unix epoch.
    FixedWindow,
    /// At most N in any length of P, by the instant of each.
    SlidingLog,
    /// At most N in the last P, where what the window before had is taken as spread evenly over it.
    SlidingWindow,
    /// A burst of B at once, then one each P/N: at most B + t·N/P in any time t.
    TokenBucket,
    /// Requests fill a bucket of B that runs out at N each P; what would overflow is refused. The token bucket's rule.
    /// With a longest wait it is a queue: what is admitted departs one each P/N.
    LeakyBucket,
}

/// A quota, its algorithm and its capacity. Always valid: what exists can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limit {
    algorithm: Algorithm,
    quota: Quota,
    capacity: u32,
    /// B·P/N for a bucket (zero when N = 0), nothing for a window.
    tolerance: Exact,
    /// Of a queue: how long a request may wait at most, in microseconds.
    max_wait: Option<u64>,
}

/// Why a [`Limit`] cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidLimit {
    /// Not 1 to 10^9.
    #[error("burst must be 1 to 1000000000, not {0}")]
    Burst(u64),
    /// More than 100,000 instants to keep.
    #[error("SlidingLog keeps the time of each request and allows 100000 at most, not {0}; use SlidingWindow")]
    Log(u64),
    /// More than ten minutes, or not whole microseconds.
    #[error("maxWait must be at most 10m in whole microseconds, not {0:?}")]
    MaxWait(Duration),
    /// B·P/N is more than ten years.
    #[error(
        "burst {burst} takes more than ten years (3650 days) to refill at this rate; \
         a burst of at most {most}, or a faster rate, would be right"
    )]
    TooSlow {
        /// The burst asked for.
        burst: u64,
        /// The largest burst at this rate; at least 1.
        most: u64,
    },
}

/// The longest time a bucket may take to refill: 3,650 days, in microseconds.
const LONGEST_REFILL: u64 = 3650 * 24 * 3600 * 1_000_000;

// === impl Algorithm ===

impl Algorithm {
    /// The name as a policy writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::FixedWindow => "FixedWindow",
            Self::SlidingLog => "SlidingLog",
            Self::SlidingWindow => "SlidingWindow",
            Self::TokenBucket => "TokenBucket",
            Self::LeakyBucket => "LeakyBucket",
        }
    }
}

// === impl Limit ===

impl Limit {
    /// The largest burst.
    pub const MAX_BURST: u64 = 1_000_000_000;
    /// The most requests a sliding log may allow in a period.
    pub const MAX_LOG: u64 = 100_000;
    /// The longest time a queue may hold a request: ten minutes.
    pub const MAX_WAIT: Duration = Duration::from_secs(600);

    /// At most N of the quota in each window of its period, aligned to the Unix epoch.
    pub fn fixed_window(quota: Quota) -> Self {
        Self::window(Algorithm::FixedWindow, quota)
    }

    /// At most N of the quota in the last period, reckoned from two counts: what the window before the present one had
    /// weighs as much as still reaches into the last period. At most 2N - 1 in any period.
    pub fn sliding_window(quota: Quota) -> Self {
        Self::window(Algorithm::SlidingWindow, quota)
    }

    /// At most N of the quota (0 to 100,000) in any length of its period: keeps the instant of each unit, 8 bytes.
    ///
    /// # Errors
    /// When N is larger. [`sliding_window`](Self::sliding_window) takes it.
    pub fn sliding_log(quota: Quota) -> Result<Self, InvalidLimit> {
        if quota.requests() > Self::MAX_LOG {
            return Err(InvalidLimit::Log(quota.requests()));
        }
        Ok(Self::window(Algorithm::SlidingLog, quota))
    }

    fn window(algorithm: Algorithm, quota: Quota) -> Self {
        Self { algorithm, quota, capacity: quota.requests() as u32, tolerance: Exact::default(), max_wait: None }
    }

    /// A bucket of `burst` tokens (1 to 10^9) that refills at the quota's rate, within ten years (3,650 days).
    ///
    /// With a quota of 0 requests, which refuses all whatever the burst, a burst of 0 is taken too.
    ///
    /// # Errors
    /// When the burst is out of its range, or takes longer to refill.
    pub fn token_bucket(quota: Quota, burst: u64) -> Result<Self, InvalidLimit> {
        Self::bucket(Algorithm::TokenBucket, quota, burst)
    }

    /// A bucket that holds `burst` requests (1 to 10^9) and runs out at the quota's rate, within ten years (3,650 days).
    /// Decides as [`token_bucket`](Self::token_bucket) does.
    ///
    /// # Errors
    /// When the burst is out of its range, or takes longer to run out.
    pub fn leaky_bucket(quota: Quota, burst: u64) -> Result<Self, InvalidLimit> {
        Self::bucket(Algorithm::LeakyBucket, quota, burst)
    }

    /// A leaky bucket that is a queue: a request that finds what came before it not yet run out waits until it has, at
    /// most `max_wait` (0 to 10 minutes, whole microseconds), and is refused where it would have to wait longer or finds
    /// no room. Without `burst` the bucket holds what can wait and one more: ⌊maxWait·N/P⌋ + 1, at most 10^9.
    ///
    /// The state is the leaky bucket's, so an edit of one into the other keeps the debt.
    ///
    /// # Errors
    /// When `max_wait` is out of its range, or as for [`leaky_bucket`](Self::leaky_bucket).
    pub fn leaky_queue(quota: Quota, burst: Option<u64>, max_wait: Duration) -> Result<Self, InvalidLimit> {
        if max_wait > Self::MAX_WAIT || !max_wait.subsec_nanos().is_multiple_of(1000) {
            return Err(InvalidLimit::MaxWait(max_wait));
        }
        // ten minutes at 10^9 each ms and one request more are below 2^64; what the default holds runs out within
        // ten minutes and one P/N
        let wait = max_wait.as_micros() as u64;
        let waiting = u128::from(wait) * u128::from(quota.requests()) / u128::from(quota.period_micros());
        let burst = burst.unwrap_or((waiting as u64 + 1).min(Self::MAX_BURST));
        Ok(Self { max_wait: Some(wait), ..Self::bucket(Algorithm::LeakyBucket, quota, burst)? })
    }

    /// The same queue for a request that may wait no longer than `most`. Any other limit stays as it is.
    #[must_use]
    pub fn waiting_at_most(self, most: Duration) -> Self {
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
        Self { max_wait: self.max_wait.map(|wait| wait.min(most)), ..self }
    }

    fn bucket(algorithm: Algorithm, quota: Quota, burst: u64) -> Result<Self, InvalidLimit> {
        let requests = quota.requests();
        let least = u64::from(requests > 0);
        let capacity = match u32::try_from(burst) {
            Ok(capacity) if (least..=Self::MAX_BURST).contains(&burst) => capacity,
            _ => return Err(InvalidLimit::Burst(burst)),
        };
        let mut tolerance = Exact::default();
        if requests > 0 {
            let budget = u128::from(LONGEST_REFILL) * u128::from(requests);
            let period = u128::from(quota.period_micros());
            if u128::from(burst) * period > budget {
                // 121 at N = 1 and P = 30 days, so never 0; and less than the burst asked for
                return Err(InvalidLimit::TooSlow { burst, most: (budget / period) as u64 });
            }
            tolerance = Exact::of_requests(burst, requests as u32, quota.period_micros());
        }
        Ok(Self { algorithm, quota, capacity, tolerance, max_wait: None })
    }

    /// How it is enforced.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// N requests in each P.
    pub fn quota(&self) -> Quota {
        self.quota
    }

    /// What is there when nothing was used: N for a window, B for a bucket.
    pub fn capacity(&self) -> u64 {
        u64::from(self.capacity)
    }

    /// How long a request may wait at most; none but for a queue.
    pub fn max_wait(&self) -> Option<Duration> {
        self.max_wait.map(Duration::from_micros)
    }

    /// Whether a request of this cost can ever pass. N = 0 refuses all, reads (cost 0) too.
    pub fn can_ever_pass(&self, cost: u64) -> bool {
        self.requests() > 0 && cost <= self.capacity()
    }

    /// N.
    pub(crate) fn requests(&self) -> u32 {
        self.quota.requests() as u32
    }

    /// P in microseconds.
    pub(crate) fn period(&self) -> u64 {
        self.quota.period_micros()
    }

    /// How long a request may wait in a queue, in microseconds.
    pub(crate) fn max_wait_micros(&self) -> Option<u64> {
        self.max_wait
    }

    /// What `cost` units take at this rate (N > 0): c·P/N.
    pub(crate) fn time_of(&self, cost: u64) -> Exact {
        Exact::of_requests(cost, self.requests(), self.period())
    }

    /// How far ahead of now the theoretical arrival time may be: B·P/N.
    pub(crate) fn tolerance(&self) -> Exact {
        self.tolerance
    }
}
