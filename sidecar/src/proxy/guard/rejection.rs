//! Why a connection's input is not let through. A value, not an error: it becomes an answer.
use http::StatusCode;

/// What is wrong with a request's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rejection {
    /// It has no reading, or more than one.
    Malformed(&'static str),
    /// The target is longer than the limit.
    TargetTooLong,
    /// The head is longer than the limit, or has too many fields.
    HeadTooLarge,
    /// It did not come in time.
    TooSlow,
}

impl Rejection {
    /// The status of the answer.
    #[must_use]
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::TargetTooLong => StatusCode::URI_TOO_LONG,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// The value of `Weir-Error`.
    #[must_use]
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Malformed(_) | Self::TooSlow => "malformed",
            Self::TargetTooLong | Self::HeadTooLarge => "too-large",
        }
    }

    /// What was wrong, for the person who sent it.
    #[must_use]
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Malformed(why) => why,
            Self::TargetTooLong => "the request target is longer than this server takes",
            Self::HeadTooLarge => "the request head is larger than this server takes",
            Self::TooSlow => "the request head did not arrive in time",
        }
    }
}
