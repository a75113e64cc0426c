//! What clients are told about the limits of a policy, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// What clients are told about the limits of a policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResponseSpec {
    /// The headers that say where a client stands, on every response that a limit counted, refusals included. XRateLimit
    /// (the default): X-RateLimit-Limit, -Remaining and -Reset of the limit that is reported. RateLimit: RateLimit-Policy
    /// with all limits that applied and RateLimit with what is left of the one that is reported, after
    /// draft-ietf-httpapi-ratelimit-headers. `[]`: none of them. Retry-After is sent whatever stands here.
    #[serde(default = "default_headers")]
    #[schemars(length(max = 2), extend("x-kubernetes-list-type" = "set"))]
    pub headers: Vec<LimitHeader>,

    /// What becomes of such headers that the application sends itself. Keep (the default) leaves them as they are: any
    /// X-RateLimit-* of the application keeps all of ours out, and RateLimit-Policy and RateLimit, which are lists, get
    /// ours added at their end. Replace takes those of the application out wherever ours are sent. Retry-After of the
    /// application is never touched.
    #[serde(default)]
    pub existing: ExistingHeaders,

    /// How X-RateLimit-Reset tells its time: DeltaSeconds (the default), seconds from now; UnixSeconds, seconds since
    /// 1970-01-01T00:00:00Z by the clock that Date is told by. RateLimit always tells seconds from now.
    #[serde(default)]
    pub reset_format: ResetFormat,

    /// How Retry-After of a refusal tells its time: DelaySeconds (the default), seconds from now; HTTPDate, a date such as
    /// `Fri, 20 Nov 2026 10:00:00 GMT`, by the clock that Date is told by.
    #[serde(default)]
    pub retry_after_format: RetryAfterFormat,

    /// The status of a refusal, 400 to 599 without 401 and 407. Default 429 (Too Many Requests). Not for requests that
    /// can't be counted (400, 431) or while the store is away (503).
    #[serde(default = "default_status")]
    #[schemars(range(min = 400, max = 599), extend("x-kubernetes-validations" = rule::status()))]
    pub status: i64,
}

/// A group of headers that say where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum LimitHeader {
    /// X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset.
    XRateLimit,
    /// RateLimit-Policy and RateLimit.
    RateLimit,
}

/// What becomes of the application's own headers of the same names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ExistingHeaders {
    /// They stay.
    #[default]
    Keep,
    /// Ours take their place.
    Replace,
}

/// How X-RateLimit-Reset tells its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum ResetFormat {
    /// Seconds from now.
    #[default]
    DeltaSeconds,
    /// Seconds since the Unix epoch.
    UnixSeconds,
}

/// How Retry-After tells its time (RFC 9110 §10.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum RetryAfterFormat {
    /// Seconds from now.
    #[default]
    DelaySeconds,
    /// A date.
    #[serde(rename = "HTTPDate")]
    HttpDate,
}

impl Default for ResponseSpec {
    fn default() -> Self {
        Self {
            headers: default_headers(),
            existing: ExistingHeaders::default(),
            reset_format: ResetFormat::default(),
            retry_after_format: RetryAfterFormat::default(),
            status: default_status(),
        }
    }
}

impl ResponseSpec {
    /// True when it says what is so without it.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

fn default_headers() -> Vec<LimitHeader> {
    vec![LimitHeader::XRateLimit]
}

fn default_status() -> i64 {
    429
}
