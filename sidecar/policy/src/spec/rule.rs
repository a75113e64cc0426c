//! The rules that the API server checks by itself, and their words. A rule that CEL can say stands on the schema, so that
//! it holds even where the webhook is away; `compile` says the same in the same words. Not here: what only `compile` can
//! check.

use serde_json::{Value, json};

/// What would be right, in the words both the API server and `compile` use.
pub(crate) mod text {
    pub(crate) const PERIOD_FORM: &str = "must be a length of time such as 500ms, 1m30s or 24h: whole numbers with the units h, m, s, ms, us, largest \
         first; for 1d write 24h";
    pub(crate) const PERIOD_BOUNDS: &str = "must be between 1ms and 720h (30 days)";
    pub(crate) const LIMIT_NAME: &str =
        "must be 1 to 63 lower-case letters, digits or '-', starting and ending with a letter or digit, such as per-ip";
    pub(crate) const BURST_ALGORITHM: &str =
        "goes with TokenBucket only: leave burst out, or write algorithm: TokenBucket";
    pub(crate) const ONE_KEY_SOURCE: &str =
        "must have exactly one of header, clientAddress; to key by the peer's address write clientAddress: {}";
    pub(crate) const ONE_PATH_FORM: &str = "must have exactly one of exact, prefix, such as prefix: /api";
    pub(crate) const HEADER_NAME: &str =
        "must be a header name such as x-tenant: letters, digits and any of !#$%&'*+-.^_`|~";
    pub(crate) const METHOD: &str = "must be a method name such as GET";
    pub(crate) const PATH: &str = "must start with / and hold no ?, #, space or control character, such as /api";
}

const PERIOD: &str = "^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,11}ms)?([0-9]{1,14}us)?$";

/// One CEL rule with the message shown when it does not hold.
fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}

/// Period: its form, then (only where the form is right, or `duration()` fails and takes the message along) its bounds.
pub(super) fn period() -> Value {
    let form = format!("self.size() > 0 && self.matches('{PERIOD}')");
    let bounds = format!("!({form}) || (duration(self) >= duration('1ms') && duration(self) <= duration('720h'))");
    json!([rule(&form, text::PERIOD_FORM), rule(&bounds, text::PERIOD_BOUNDS)])
}

/// A limit's name: a DNS label.
pub(super) fn limit_name() -> Value {
    json!([rule("self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", text::LIMIT_NAME)])
}

/// Only a bucket has a burst.
pub(super) fn limit() -> Value {
    json!([{
        "rule": "self.algorithm == 'TokenBucket' || !has(self.burst)",
        "message": text::BURST_ALGORITHM,
        "fieldPath": ".burst",
    }])
}

/// A key has one source.
pub(super) fn key_source() -> Value {
    json!([rule("has(self.header) != has(self.clientAddress)", text::ONE_KEY_SOURCE)])
}

/// A path is matched in one way.
pub(super) fn path_match() -> Value {
    json!([rule("has(self.exact) != has(self.prefix)", text::ONE_PATH_FORM)])
}

/// A header's name (RFC 9110 §5.1, token).
pub(super) fn header_name() -> Value {
    json!([rule("self.matches('^[A-Za-z0-9!#$%&\\'*+.^_`|~-]+$')", text::HEADER_NAME)])
}

/// A method's name (RFC 9110 §9.1, token; letters and hyphens are all that is registered).
pub(super) fn methods() -> Value {
    json!([rule("self.all(m, m.matches('^[A-Za-z][A-Za-z-]*$'))", "each one must be a method name such as GET")])
}

/// A path as it is written in a policy.
pub(super) fn path() -> Value {
    json!([rule("self.matches('^/[^?#\\\\s]*$')", text::PATH)])
}
