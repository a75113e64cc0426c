//! One limit, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostSpec, Enforcement, KeySource, QueueSpec, RequestMatch, SlowdownSpec, TierSpec, rule};

/// One limit: which requests, counted by what, and how many. Example: `{name: per-ip, keys: [{clientAddress: {}}],
/// algorithm: TokenBucket, rate: {requests: 60, period: 1m}, burst: 20}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-kubernetes-validations" = rule::limit()))]
pub struct LimitSpec {
    /// The limit's name in the policy, in answers, logs and metrics: 1 to 63 lower-case letters, digits or '-'. The count
    /// belongs to this name: a new name starts from zero. Example: `per-ip`.
    #[schemars(length(min = 1, max = 63), extend("x-kubernetes-validations" = rule::limit_name()))]
    pub name: String,

    /// Which requests the limit counts. Left out: all of them. Example: `{methods: [POST], paths: [{exact: /login}]}`.
    #[serde(default, rename = "match", skip_serializing_if = "RequestMatch::is_empty")]
    pub matches: RequestMatch,

    /// What the requests are counted by, at most 4: each combination of values has a count of its own. Left out or empty:
    /// one count for all requests. Example: `[{header: {name: x-tenant}}, {method: {}}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4))]
    pub keys: Vec<KeySource>,

    /// What happens to a request that lacks one of the keys: the header, the cookie or the parameter of the query is absent or
    /// empty, or no host is named; a method, a path and an address are always there. ClientAddress (the default) counts it
    /// by the client's address in the key's place; Shared counts all such requests together; Deny answers 400; Skip does not
    /// count it: anyone who leaves the key out is then unlimited.
    #[serde(default)]
    pub on_missing_key: OnMissingKey,

    /// How the rate is held. FixedWindow counts in windows of one period, aligned to the clock (UTC): at most `requests` in
    /// each. SlidingWindow counts the last period, of which it takes the part before its present window as evenly used.
    /// SlidingLog keeps the time of each request: never more than `requests` (at most 100000) in any length of one period.
    /// TokenBucket allows `burst` requests at once and refills at the rate, evenly. LeakyBucket decides the same, told as a
    /// bucket that holds `burst` requests, runs out at the rate and refuses what would overflow.
    pub algorithm: Algorithm,

    /// How many requests in how much time. Example: `{requests: 60, period: 1m}`.
    pub rate: Rate,

    /// TokenBucket and LeakyBucket only: how many requests the bucket holds, 1 to 1000000000. Left out: as many as
    /// `rate.requests`; with `queue`, what can wait and one more: `maxWait` times the rate, rounded down, and 1. The bucket must fill, or run out, within 10 years.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "i64", range(min = 1, max = 1_000_000_000))]
    pub burst: Option<i64>,

    /// Other rates for some of the requests, at most 16; the first that matches applies (nowhere else does order matter). Each
    /// tier has counts of its own. Left out: `rate` and `burst` are for all. Example: `[{name: pro, match: {headers:
    /// [{name: x-plan, exact: pro}]}, rate: {requests: 6000, period: 1m}}]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tiers: Vec<TierSpec>,

    /// What a request costs: how many of `rate.requests` or `burst` it takes. Left out: 1. An edit of it keeps what was
    /// counted. Examples: `{value: 5}`, `{header: {name: x-cost}, default: 1, max: 100}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CostSpec")]
    pub cost: Option<CostSpec>,

    /// LeakyBucket only, and not with `slowdown`: what the bucket takes in does not pass at once but evenly, one each
    /// `period`/`requests`, and waits for its turn in the sidecar. Left out: it passes at once. An edit of it keeps what was
    /// counted. Example: `{maxWait: 2s}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "QueueSpec")]
    pub queue: Option<QueueSpec>,

    /// Holds requests up before the limit refuses any: the more of it is used, the longer. Not with `queue`. Left out: none
    /// is held up. An edit of it keeps what was counted. Example: `{fromPercent: 80, maxDelay: 1s}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SlowdownSpec")]
    pub slowdown: Option<SlowdownSpec>,

    /// Whether this limit refuses. Enforce (the default): it does, unless `spec.enforcement` is Shadow. Shadow: it only
    /// counts; see there.
    #[serde(default)]
    pub enforcement: Enforcement,
}

/// A number of requests in a length of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rate {
    /// How many requests, 0 to 1000000000. 0 refuses every request that the limit matches.
    #[schemars(range(min = 0, max = 1_000_000_000))]
    pub requests: i64,

    /// In how much time, 1ms to 720h (30 days): whole numbers with the units h, m, s, ms, us, largest first. Examples: `1s`,
    /// `500ms`, `1m30s`, `24h` (a day).
    #[schemars(length(max = 48), extend("x-kubernetes-validations" = rule::period()))]
    pub period: String,
}

/// How a rate is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Algorithm {
    /// Windows of one period, aligned to the clock.
    FixedWindow,
    /// The last period, from two counts.
    SlidingWindow,
    /// The last period, from the time of each request.
    SlidingLog,
    /// A bucket that refills evenly.
    TokenBucket,
    /// A bucket that runs out evenly.
    LeakyBucket,
}

/// What happens to a request that lacks a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum OnMissingKey {
    /// The client's address stands in the key's place.
    #[default]
    ClientAddress,
    /// All such requests share one count.
    Shared,
    /// The request is answered 400.
    Deny,
    /// The limit does not count the request.
    Skip,
}
