//! What a response says about limits: which headers, with what in them, and how they get along with those of the
//! application. Not here: which limit is reported (`numbers`), and the syntax of `RateLimit` (`rate_limit_fields`).
use super::numbers::Standing;
use super::rate_limit_fields::{is_list, quota_policies, service_limit};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use weir_policy::{ExistingHeaders, LimitCheck, ResetFormat, ResponseOptions};

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
/// What all names of the kind begin with, in lower case as every [`HeaderName`] is.
const X_RATE_LIMIT: &str = "x-ratelimit-";
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// When something is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// By the clock that durations are measured with.
    pub(super) instant: Instant,
    /// By the clock that Date is told by.
    pub(super) date: SystemTime,
}

/// What a response says about limits.
#[derive(Debug)]
pub(super) struct Told {
    options: ResponseOptions,
    standing: Standing,
    /// When the limits stood so.
    at: Instant,
    /// `RateLimit-Policy`, and the name in `RateLimit`.
    fields: Option<(HeaderValue, String)>,
}

impl Told {
    /// That `reported`, one of `checks`, stands so; none when its policy sends no headers. `RateLimit-Policy` tells it
    /// first and then the others, but for those of policies that don't send the field.
    pub(super) fn new(
        reported: &LimitCheck<'_>,
        standing: Standing,
        checks: &[LimitCheck<'_>],
        at: Instant,
    ) -> Option<Self> {
        let options = reported.policy.response;
        let fields = options.rate_limit.then(|| {
            let others = checks.iter().filter(|check| check.policy.response.rate_limit);
            let all = std::iter::once(reported).chain(others);
            (quota_policies(all.map(|check| (name(check), &check.applied))), name(reported))
        });
        let fields = fields.and_then(|(policies, name)| Some((policies?, name)));
        (options.x_rate_limit || options.rate_limit).then_some(Self { options, standing, at, fields })
    }

    /// Puts the headers on a response that goes out now.
    pub(super) fn apply(&self, headers: &mut HeaderMap, now: Moment) {
        let passed = now.instant.saturating_duration_since(self.at);
        if self.options.x_rate_limit {
            self.put_group(headers, passed, now.date);
        }
        if let Some((policies, name)) = &self.fields {
            let more = self.standing.more.map(|more| whole_seconds(more.saturating_sub(passed)));
            self.put_list(headers, RATE_LIMIT_POLICY, Some(policies.clone()));
            self.put_list(headers, RATE_LIMIT, service_limit(name, self.standing.remaining, more));
        }
    }

    /// The three headers, unless one of the application's stands against them: numbers of two limiters side by side could
    /// not be told apart.
    fn put_group(&self, headers: &mut HeaderMap, passed: Duration, date: SystemTime) {
        let own = |name: &HeaderName| name.as_str().starts_with(X_RATE_LIMIT);
        let theirs: Vec<HeaderName> = headers.keys().filter(|name| own(name)).cloned().collect();
        if !theirs.is_empty() && self.options.existing == ExistingHeaders::Keep {
            return;
        }
        for name in theirs {
            headers.remove(name);
        }
        let reset = self.standing.reset.saturating_sub(passed).max(self.standing.least);
        let reset = match self.options.reset_format {
            ResetFormat::DeltaSeconds => whole_seconds(reset),
            ResetFormat::UnixSeconds => unix_seconds(date, reset),
        };
        headers.insert(LIMIT, HeaderValue::from(self.standing.limit));
        headers.insert(REMAINING, HeaderValue::from(self.standing.remaining));
        headers.insert(RESET, HeaderValue::from(reset));
    }

    /// A list, after what the application has in it.
    fn put_list(&self, headers: &mut HeaderMap, name: HeaderName, value: Option<HeaderValue>) {
        let Some(value) = value else { return };
        if self.options.existing == ExistingHeaders::Replace {
            headers.insert(name, value);
        } else if headers.get_all(&name).iter().all(is_list) {
            headers.append(name, value);
        }
    }
}

/// A limit as clients know it: `policy/limit`.
pub(super) fn name(check: &LimitCheck<'_>) -> String {
    format!("{}/{}", check.policy.id.name, check.limit.name)
}

/// Seconds, rounded up: whoever waits so long has waited long enough.
pub(super) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}

/// The instant `wait` after `date` in seconds since the Unix epoch, rounded up.
pub(super) fn unix_seconds(date: SystemTime, wait: Duration) -> u64 {
    // a clock before 1970 is not set
    whole_seconds(date.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(wait))
}

#[cfg(test)]
mod tests;
