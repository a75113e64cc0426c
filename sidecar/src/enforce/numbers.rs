//! Which of several limits a client is told about, and in what numbers. Pure: a decision in, numbers out.
use crate::proxy::gate::Numbers;
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

fn numbers(limit: &PolicyLimit, outcome: &Outcome) -> Numbers {
    Numbers { limit: limit.limit.capacity(), remaining: outcome.remaining, reset: whole_seconds(outcome.reset) }
}

impl Refusing<'_> {
    /// The numbers that go with a refusal: the reset is at least one second away, as nothing is ever free "in 0 s".
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        let numbers = numbers(self.check.limit, self.outcome);
        Numbers { reset: numbers.reset.max(1), ..numbers }
    }

    /// Seconds for `Retry-After`, at least 1; `None` where waiting never helps.
    #[must_use]
    pub fn retry_after(&self) -> Option<u64> {
        match self.outcome.verdict {
            Verdict::Wait(wait) => Some(whole_seconds(wait).max(1)),
            Verdict::Pass | Verdict::Never => None,
        }
    }

    /// The limit as clients know it: `policy/limit`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.check.policy.id.name, self.check.limit.name)
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

/// The numbers of the limit with the smallest share left, ties by policy and limit name; `None` when nothing counted.
#[must_use]
pub fn tightest(checks: &[LimitCheck<'_>], outcomes: &[Outcome]) -> Option<Numbers> {
    checks
        .iter()
        .zip(outcomes)
        .min_by(|(check_a, a), (check_b, b)| {
            let (left_a, left_b) = (u128::from(a.remaining), u128::from(b.remaining));
            let (full_a, full_b) =
                (u128::from(check_a.limit.limit.capacity()), u128::from(check_b.limit.limit.capacity()));
            let by_share = (left_a * full_b).cmp(&(left_b * full_a));
            by_share.then_with(|| name(check_a.policy, check_a.limit).cmp(&name(check_b.policy, check_b.limit)))
        })
        .map(|(check, outcome)| numbers(check.limit, outcome))
}

fn name<'p>(policy: &'p Policy, limit: &'p PolicyLimit) -> (&'p str, &'p str, &'p str) {
    (&policy.id.namespace, &policy.id.name, &limit.name)
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
