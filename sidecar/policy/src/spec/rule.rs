//! The rules that the API server checks by itself, and their words. A rule that CEL can say stands on the schema, so that
//! it holds even where the webhook is away; `compile` says the same in the same words. Not here: what only `compile` can
//! check.

use serde_json::{Value, json};

use super::KeySource;

/// What would be right, in the words both the API server and `compile` use.
pub(crate) mod text {
    pub(crate) const TIME_FORM: &str = "must be a length of time such as 500ms, 1m30s or 24h: whole numbers with the units h, m, s, ms, us, largest \
         first; for 1d write 24h";
    pub(crate) const PERIOD_BOUNDS: &str = "must be between 1ms and 720h (30 days)";
    pub(crate) const WAIT_BOUNDS: &str = "must be between 1ms and 10m";
    pub(crate) const LIMIT_NAME: &str =
        "must be 1 to 63 lower-case letters, digits or '-', starting and ending with a letter or digit, such as per-ip";
    pub(crate) const BURST_ALGORITHM: &str =
        "goes with TokenBucket and LeakyBucket only: leave burst out, or write algorithm: TokenBucket";
    pub(crate) const QUEUE_ALGORITHM: &str =
        "goes with LeakyBucket only: leave queue out, or write algorithm: LeakyBucket";
    pub(crate) const SLOWDOWN_QUEUE: &str =
        "does not go with queue, which holds requests back in its own way: leave one of the two out";
    pub(crate) const LOG_REQUESTS: &str =
        "SlidingLog keeps the time of each request and allows 100000 at most; for more write algorithm: SlidingWindow";
    pub(crate) const ONE_KEY_SOURCE: &str = "must have exactly one of header, cookie, query, method, host, path, clientAddress; to key by the client's address \
         write clientAddress: {}";
    pub(crate) const ONE_PATH_FORM: &str = "must have exactly one of exact, prefix, regex, such as prefix: /api";
    pub(crate) const ONE_FIELD_FORM: &str = "must have exactly one of exact, regex, present, such as exact: pro";
    pub(crate) const ONLY_TRUE: &str = "must be true: leave it out otherwise";
    pub(crate) const ONE_EXEMPTION: &str =
        "must have exactly one of match, corsPreflight, such as match: {paths: [{exact: /healthz}]}";
    pub(crate) const CASE_OF_NOTHING: &str = "goes with paths, headers or query only: leave it out";
    pub(crate) const ANY_PART: &str =
        "must say which requests: give at least one part, such as paths: [{exact: /healthz}]";
    pub(crate) const HOST: &str =
        "must be a host without a port, such as shop.example, or *.shop.example for every name below it";
    pub(crate) const HEADER_NAME: &str =
        "must be a header name such as x-tenant: letters, digits and any of !#$%&'*+-.^_`|~";
    pub(crate) const ONE_TRUST: &str = "must have exactly one of trustedHops, trustedCIDRs, such as trustedHops: 1";
    pub(crate) const NETWORK: &str =
        "must be a network such as 10.0.0.0/8 or 2001:db8::/32; for one address write 203.0.113.7/32";
    pub(crate) const COOKIE_NAME: &str =
        "must be a cookie name such as session: letters, digits and any of !#$%&'*+-.^_`|~";
    pub(crate) const ONE_COST: &str =
        "must have exactly one of value, header, query, such as value: 2 or header: {name: x-cost}";
    pub(crate) const COST_WITH_HEADER: &str = "goes with header or query only, not with value: leave it out";
    pub(crate) const COST_DEFAULT: &str = "must be at most max";
    pub(crate) const COST_CAPACITY: &str =
        "must be at most burst, or what the limit holds without it: what costs more can never pass";
    pub(crate) const STATUS: &str =
        "must not be 401 or 407, which ask for credentials: write 429, or another status of 400 to 599";
    pub(crate) const METHOD: &str = "must be a method name such as GET";
    pub(crate) const PATH: &str = "must start with / and hold no ?, #, space or control character, such as /api";
}

// The forms as regular expressions, for CEL; compile reads the same by hand, and the tests hold the two together.
const LIMIT_NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const TOKEN: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const NETWORK: &str = "^[0-9A-Fa-f:.]+/[0-9]{1,3}$";
const METHOD: &str = "^[A-Za-z][A-Za-z-]*$";
const TIME: &str = "^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,11}ms)?([0-9]{1,14}us)?$";

/// One CEL rule with the message shown when it does not hold.
fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}

/// One CEL rule that exactly one of these fields is given.
fn exactly_one(fields: &[&str], message: &str) -> Value {
    let given: Vec<String> = fields.iter().map(|field| format!("has(self.{field})")).collect();
    rule(&format!("[{}].exists_one(given, given)", given.join(", ")), message)
}

/// The CEL rule that a text is of a form, with the message shown when it is not.
fn form(pattern: &str, message: &str) -> Value {
    json!([rule(&format!("self.matches('{}')", pattern.replace('\'', "\\'")), message)])
}

/// A length of time: its form, then (only where the form is right, or `duration()` fails and takes the message along) its
/// bounds, 1ms and `most`.
fn time(most: &str, bounds: &str) -> Value {
    let form = format!("self.size() > 0 && self.matches('{TIME}')");
    let within = format!("!({form}) || (duration(self) >= duration('1ms') && duration(self) <= duration('{most}'))");
    json!([rule(&form, text::TIME_FORM), rule(&within, bounds)])
}

/// The period of a rate.
pub(super) fn period() -> Value {
    time("720h", text::PERIOD_BOUNDS)
}

/// How long a request is held at most.
pub(super) fn wait() -> Value {
    time("10m", text::WAIT_BOUNDS)
}

/// A limit's name: a DNS label.
pub(super) fn limit_name() -> Value {
    form(LIMIT_NAME, text::LIMIT_NAME)
}

/// One CEL rule about a field, `.rate.requests`, with the message shown when it does not hold.
fn rule_at(field: &str, rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message, "fieldPath": field})
}

/// That a number of `cost` is not more than the limit holds; nothing passes where that is 0, whatever it costs. What a queue
/// without `burst` holds is reckoned by `compile` only. `unless` is where it need not be said.
fn cost_can_pass(number: &str, unless: &str) -> Value {
    let given = format!("!has(self.cost) || !has(self.cost.{number}) || {unless}self.rate.requests == 0");
    let given = format!("{given} || (has(self.queue) && !has(self.burst))");
    let holds = format!("self.cost.{number} <= (has(self.burst) ? self.burst : self.rate.requests)");
    rule_at(&format!(".cost.{number}"), &format!("{given} || {holds}"), text::COST_CAPACITY)
}

/// What a request costs is said in one way, and the numbers are in order.
pub(super) fn cost() -> Value {
    json!([
        rule("[has(self.value), has(self.header), has(self.query)].exists_one(given, given)", text::ONE_COST),
        rule_at(".default", "!has(self.value) || !has(self.default)", text::COST_WITH_HEADER),
        rule_at(".max", "!has(self.value) || !has(self.max)", text::COST_WITH_HEADER),
        rule_at(".default", "!has(self.default) || !has(self.max) || self.default <= self.max", text::COST_DEFAULT),
    ])
}

/// Only a bucket has a burst; a log is not endless; what a request costs can pass; requests are held back in one way.
pub(super) fn limit() -> Value {
    json!([
        rule_at(".queue", "self.algorithm == 'LeakyBucket' || !has(self.queue)", text::QUEUE_ALGORITHM),
        rule_at(".slowdown", "!has(self.queue) || !has(self.slowdown)", text::SLOWDOWN_QUEUE),
        cost_can_pass("value", ""),
        cost_can_pass("default", "has(self.cost.max) || "),
        cost_can_pass("max", ""),
        rule_at(
            ".burst",
            "self.algorithm in ['TokenBucket', 'LeakyBucket'] || !has(self.burst)",
            text::BURST_ALGORITHM
        ),
        rule_at(".rate.requests", "self.algorithm != 'SlidingLog' || self.rate.requests <= 100000", text::LOG_REQUESTS),
    ])
}

/// A key has one source.
pub(super) fn key_source() -> Value {
    json!([exactly_one(&KeySource::FIELDS, text::ONE_KEY_SOURCE)])
}

/// Proxies are believed for one reason.
pub(super) fn client_address() -> Value {
    json!([exactly_one(&["trustedHops", "trustedCIDRs"], text::ONE_TRUST)])
}

/// Networks; which numbers they may hold is for `compile` to say.
pub(super) fn networks() -> Value {
    json!([rule(&format!("self.all(n, n.matches('{NETWORK}'))"), text::NETWORK)])
}

/// A path is matched in one way.
pub(super) fn path_match() -> Value {
    let one = "[has(self.exact), has(self.prefix), has(self.regex)].exists_one(given, given)";
    json!([rule(one, text::ONE_PATH_FORM)])
}

/// A header or parameter is matched in one way.
pub(super) fn field_match() -> Value {
    let one = "[has(self.exact), has(self.regex), has(self.present)].exists_one(given, given)";
    json!([rule(one, text::ONE_FIELD_FORM)])
}

/// What is said is so.
pub(super) fn only_true() -> Value {
    json!([rule("self", text::ONLY_TRUE)])
}

/// An exemption has one reason.
pub(super) fn exemption() -> Value {
    json!([rule("has(self.match) != has(self.corsPreflight)", text::ONE_EXEMPTION)])
}

/// The status of a refusal.
pub(super) fn status() -> Value {
    json!([rule("self != 401 && self != 407", text::STATUS)])
}

/// A header's name (RFC 9110 §5.1, token).
pub(super) fn header_name() -> Value {
    form(TOKEN, text::HEADER_NAME)
}

/// A cookie's name (RFC 6265 §4.1.1, token).
pub(super) fn cookie_name() -> Value {
    form(TOKEN, text::COOKIE_NAME)
}

/// A method's name (RFC 9110 §9.1, token; letters and hyphens are all that is registered).
pub(super) fn methods() -> Value {
    json!([rule(&format!("self.all(m, m.matches('{METHOD}'))"), "each one must be a method name such as GET")])
}

/// A path as it is written in a policy.
pub(super) fn path() -> Value {
    json!([rule("self.matches('^/[^?#\\\\s]*$')", text::PATH)])
}

#[cfg(test)]
mod tests;
