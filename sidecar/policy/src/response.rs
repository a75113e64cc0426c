//! What clients are told about the limits of a policy, in the form that runs. Made by [`crate::compile`] only. Not here:
//! the headers themselves, which are written where responses are.

use http::StatusCode;

pub use crate::spec::{ExistingHeaders, ResetFormat, RetryAfterFormat};

/// What clients are told about the limits of a policy, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseOptions {
    /// Whether X-RateLimit-Limit, -Remaining and -Reset are sent.
    pub x_rate_limit: bool,
    /// Whether RateLimit-Policy and RateLimit are sent.
    pub rate_limit: bool,
    /// What becomes of such headers that the application sends.
    pub existing: ExistingHeaders,
    /// How X-RateLimit-Reset tells its time.
    pub reset_format: ResetFormat,
    /// How Retry-After tells its time.
    pub retry_after_format: RetryAfterFormat,
    /// The status of a refusal: 400 to 599, not 401 or 407.
    pub status: StatusCode,
}

impl Default for ResponseOptions {
    fn default() -> Self {
        Self {
            x_rate_limit: true,
            rate_limit: false,
            existing: ExistingHeaders::default(),
            reset_format: ResetFormat::default(),
            retry_after_format: RetryAfterFormat::default(),
            status: StatusCode::TOO_MANY_REQUESTS,
        }
    }
}
