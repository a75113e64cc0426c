//! What a request costs, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{QueryKey, rule};

/// What a request costs: exactly one of `value`, `header`, `query`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::cost()))]
pub struct CostSpec {
    /// The same for every request, 0 to 1000000000, at most what the limit holds (`burst`, or `rate.requests` of an
    /// algorithm without one). 0 takes nothing: the limit then tells what is left and refuses nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 0, max = 1_000_000_000))]
    pub value: Option<i64>,

    /// The request header that says it, as a whole number; less than 1 counts as 1, more than `max` as `max`. One that
    /// comes with two different values, or in another spelling (`x_cost` for `x-cost`), is answered 400. Clients write
    /// their headers as they like: unless something in front of the pod sets this one, each chooses its own cost.
    /// Example: `{name: x-cost}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CostHeader")]
    pub header: Option<CostHeader>,

    /// The parameter of the query that says it, as a header would. Example: `{name: limit}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QueryKey")]
    pub query: Option<QueryKey>,

    /// With `header` or `query` only: what a request costs that has no such header or parameter, or one that is no whole
    /// number; 1 to `max`. Left out: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000))]
    pub default: Option<i64>,

    /// With `header` or `query` only: the most that a request costs, whatever it says; at most what the limit holds (`burst`,
    /// or `rate.requests` of an algorithm without one), which it is when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000))]
    pub max: Option<i64>,
}

/// A request header that says what the request costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostHeader {
    /// The header's name, in upper or lower case. Example: `x-cost`.
    #[schemars(length(min = 1, max = 256), extend("x-kubernetes-validations" = rule::header_name()))]
    pub name: String,
}
