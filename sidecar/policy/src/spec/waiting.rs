//! How requests are held back instead of refused, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rule;

/// Requests that wait for their turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueueSpec {
    /// The longest that a request waits for its turn, 1ms to 10m: whole numbers with the units h, m, s, ms, us, largest
    /// first; one whose turn comes later is refused at once. Clients and proxies should be willing to wait so long.
    /// Examples: `2s`, `500ms`.
    #[schemars(length(max = 48), extend("x-kubernetes-validations" = rule::wait()))]
    pub max_wait: String,

    /// How many requests wait in one sidecar at the same time because of this limit, 1 to 10000. Beyond that, one that
    /// would have to wait is refused; one whose turn it is passes. Default 1000.
    #[serde(default = "default_max_waiting")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_waiting: i64,
}

/// Requests that are delayed as their limit is used up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SlowdownSpec {
    /// How much of the limit may be used without a delay, in percent of what it holds, 0 to 99. Example: `80`.
    #[schemars(range(min = 0, max = 99))]
    pub from_percent: i64,

    /// How long the request is held that uses the last of the limit, 1ms to 10m: whole numbers with the units h, m, s, ms,
    /// us, largest first; half as long one that comes half-way there from `fromPercent`, and so on. Examples: `1s`, `250ms`.
    #[schemars(length(max = 48), extend("x-kubernetes-validations" = rule::wait()))]
    pub max_delay: String,
}

fn default_max_waiting() -> i64 {
    1000
}
