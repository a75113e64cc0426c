//! Which of several limits a client is told about, and in what numbers. Pure: a decision in, numbers out.
use super::told;
use std::cmp::Reverse;
use std::time::Duration;
use weir_limiter::{Outcome, Verdict};
use weir_policy::{LimitCheck, Policy, PolicyLimit};

/// A limit that refuses.
#[derive(Clone, Copy, Debug)]
pub struct Refusing<'c> {
    /// What it counts.
    pub check: &'c LimitCheck<'c>,
    /// What the store says about it.
    pub outcome: &'c Outcome,
}

/// Where a client stands with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// N of a window, B of a bucket.
    pub limit: u64,
    /// Whole units left.
    pub remaining: u64,
    /// Until the window ends or the bucket is full.
    pub reset: Duration,
    /// What `reset` is told as when it is shorter: a second on a refusal, as nothing is ever free "in 0 s".
    pub least: Duration,
    /// Until there is more than what is left, or, on a refusal, until the same request passes. None when nothing is used, and
    /// where waiting never helps.
    pub more: Option<Duration>,
}

impl Standing {
    /// After a charge.
    fn admitted(check: &LimitCheck<'_>, outcome: &Outcome) -> Self {
        let Outcome { remaining, reset, more, .. } = *outcome;
        Self { limit: check.applied.capacity(), remaining, reset, least: Duration::ZERO, more }
    }
}

impl Refusing<'_> {
    /// Where the client stands who is refused.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let least = Duration::from_secs(1);
        let more = self.wait().map(|wait| wait.max(least));
        Standing { least, more, ..Standing::admitted(self.check, self.outcome) }
    }

    /// The wait for `Retry-After`, at least a second; `None` where waiting never helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.standing().more
    }

    /// The limit as clients know it: `policy/limit`.
    #[must_use]
    pub fn name(&self) -> String {
        told::name(self.check)
    }

    /// The wait, `None` where it has no end.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match self.outcome.verdict {
            Verdict::Wait(wait) => Some(wait),
            Verdict::Pass | Verdict::Never => None,
        }
    }
}

/// The limits that refuse, the one to report first: that with the longest wait (no end is longest), then by policy and
/// limit name.
#[must_use]
pub fn refusing<'c>(checks: &'c [LimitCheck<'c>], outcomes: &'c [Outcome]) -> Vec<Refusing<'c>> {
    let pairs = checks.iter().zip(outcomes).filter(|(_, outcome)| !matches!(outcome.verdict, Verdict::Pass));
    let mut refusing: Vec<_> = pairs.map(|(check, outcome)| Refusing { check, outcome }).collect();
    refusing
        .sort_by_key(|each| (Reverse(each.wait().unwrap_or(Duration::MAX)), name(each.check.policy, each.check.limit)));
    refusing
}

/// The limit to report of an admitted request, and where the client stands with it: that with the smallest share left,
/// ties by policy and limit name, of those whose policies tell of them at all.
#[must_use]
pub fn tightest<'c>(checks: &'c [LimitCheck<'c>], outcomes: &[Outcome]) -> Option<(&'c LimitCheck<'c>, Standing)> {
    let told = |check: &LimitCheck<'_>| check.policy.response.x_rate_limit || check.policy.response.rate_limit;
    checks
        .iter()
        .zip(outcomes)
        .filter(|(check, _)| told(check))
        .min_by(|(check_a, a), (check_b, b)| {
            let (left_a, left_b) = (u128::from(a.remaining), u128::from(b.remaining));
            let (full_a, full_b) = (u128::from(check_a.applied.capacity()), u128::from(check_b.applied.capacity()));
            let by_share = (left_a * full_b).cmp(&(left_b * full_a));
            by_share.then_with(|| name(check_a.policy, check_a.limit).cmp(&name(check_b.policy, check_b.limit)))
        })
        .map(|(check, outcome)| (check, Standing::admitted(check, outcome)))
}

fn name<'p>(policy: &'p Policy, limit: &'p PolicyLimit) -> (&'p str, &'p str, &'p str) {
    (&policy.id.namespace, &policy.id.name, &limit.name)
}
