//! A time as whole microseconds and a numerator over N: what c requests take at N requests a period, exactly.
//! Rates are rationals; in whole microseconds a bucket of 90,000 a second would be 8 % off.

/// `whole + numerator / N` microseconds, with `numerator < N`; N is known from the limit at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Exact {
    pub(crate) whole: u64,
    pub(crate) numerator: u32,
}

// === impl Exact ===

impl Exact {
    /// What `count` requests take at `requests` (N, at least 1) in `period` microseconds. Saturates far past any bound.
    pub(crate) fn of_requests(count: u64, requests: u32, period: u64) -> Self {
        // dividing 64 bits is several times faster, and one request at a time is what nearly every caller asks for
        if let Some(product) = count.checked_mul(period) {
            let n = u64::from(requests);
            return Self { whole: product / n, numerator: (product % n) as u32 };
        }
        let (product, n) = (u128::from(count) * u128::from(period), u128::from(requests));
        Self { whole: u64::try_from(product / n).unwrap_or(u64::MAX), numerator: (product % n) as u32 }
    }

    /// The sum, carried over `requests`.
    pub(crate) fn plus(self, other: Self, requests: u32) -> Self {
        let numerator = u64::from(self.numerator) + u64::from(other.numerator);
        let n = u64::from(requests);
        let carry = u64::from(numerator >= n);
        Self {
            whole: self.whole.saturating_add(other.whole).saturating_add(carry),
            numerator: (numerator - carry * n) as u32,
        }
    }

    /// The difference; zero where `other` is more.
    pub(crate) fn minus(self, other: Self, requests: u32) -> Self {
        if self <= other {
            return Self::default();
        }
        let borrowed = self.numerator < other.numerator;
        let numerator = u64::from(self.numerator) + if borrowed { u64::from(requests) } else { 0 };
        Self {
            whole: self.whole - other.whole - u64::from(borrowed),
            numerator: (numerator - u64::from(other.numerator)) as u32,
        }
    }

    /// Whole microseconds, rounded up.
    pub(crate) fn rounded_up(self) -> u64 {
        self.whole.saturating_add(u64::from(self.numerator > 0))
    }

    /// In units of 1/N microseconds.
    pub(crate) fn in_nths(self, requests: u32) -> u128 {
        u128::from(self.whole) * u128::from(requests) + u128::from(self.numerator)
    }
}
