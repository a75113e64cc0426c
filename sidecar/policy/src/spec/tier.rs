//! Another rate for some of a limit's requests, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Rate, RequestMatch, rule};

/// Another rate for some of a limit's requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TierSpec {
    /// The tier's name in the limit: 1 to 63 lower-case letters, digits or '-'. Its counts belong to this name, beside those
    /// of the other tiers. Example: `pro`.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = rule::limit_name()))]
    pub name: String,

    /// Which of the limit's requests, in every way in which an application might read them; at least one part must be given.
    /// What clients write as they like, such as a header, lets each choose its own tier. Example:
    /// `{headers: [{name: x-plan, exact: pro}]}`.
    #[serde(rename = "match")]
    pub matches: RequestMatch,

    /// How many requests in how much time, in place of the limit's `rate`.
    pub rate: Rate,

    /// TokenBucket and LeakyBucket only: in place of the limit's `burst`. Left out: as for a limit with this rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000))]
    pub burst: Option<i64>,
}
