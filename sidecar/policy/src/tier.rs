//! Another rate for some of a limit's requests, in the form that runs.

use weir_limiter::Limit;

use crate::request_match::CompiledMatch;

/// One of a limit's tiers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tier {
    /// Unique in the limit; part of the identity of its counts.
    pub(crate) name: String,
    pub(crate) matches: CompiledMatch,
    /// The limit's own algorithm with the tier's rate and burst.
    pub(crate) limit: Limit,
}
