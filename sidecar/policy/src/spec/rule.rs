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
        "goes with TokenBucket and LeakyBucket only: leave burst out, or write algorithm: TokenBucket";
    pub(crate) const LOG_REQUESTS: &str =
        "SlidingLog keeps the time of each request and allows 100000 at most; for more write algorithm: SlidingWindow";
    pub(crate) const ONE_KEY_SOURCE: &str =
        "must have exactly one of header, clientAddress; to key by the peer's address write clientAddress: {}";
    pub(crate) const ONE_PATH_FORM: &str = "must have exactly one of exact, prefix, such as prefix: /api";
    pub(crate) const HEADER_NAME: &str =
        "must be a header name such as x-tenant: letters, digits and any of !#$%&'*+-.^_`|~";
    pub(crate) const ONE_COST: &str =
        "must have exactly one of value, header, such as value: 2 or header: {name: x-cost}";
    pub(crate) const COST_WITH_HEADER: &str = "goes with header only, not with value: leave it out";
    pub(crate) const COST_DEFAULT: &str = "must be at most max";
    pub(crate) const COST_CAPACITY: &str =
        "must be at most what the limit holds, burst or else rate.requests: what costs more can never pass";
    pub(crate) const STATUS: &str =
        "must not be 401 or 407, which ask for credentials: write 429, or another status of 400 to 599";
    pub(crate) const METHOD: &str = "must be a method name such as GET";
    pub(crate) const PATH: &str = "must start with / and hold no ?, #, space or control character, such as /api";
}

// The forms as regular expressions, for CEL; compile reads the same by hand, and the tests hold the two together.
const LIMIT_NAME: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const HEADER_NAME: &str = "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const METHOD: &str = "^[A-Za-z][A-Za-z-]*$";
const PERIOD: &str = "^([0-9]{1,4}h)?([0-9]{1,6}m)?([0-9]{1,8}s)?([0-9]{1,11}ms)?([0-9]{1,14}us)?$";

/// One CEL rule with the message shown when it does not hold.
fn rule(rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message})
}

/// The CEL rule that a text is of a form, with the message shown when it is not.
fn form(pattern: &str, message: &str) -> Value {
    json!([rule(&format!("self.matches('{}')", pattern.replace('\'', "\\'")), message)])
}

/// Period: its form, then (only where the form is right, or `duration()` fails and takes the message along) its bounds.
pub(super) fn period() -> Value {
    let form = format!("self.size() > 0 && self.matches('{PERIOD}')");
    let bounds = format!("!({form}) || (duration(self) >= duration('1ms') && duration(self) <= duration('720h'))");
    json!([rule(&form, text::PERIOD_FORM), rule(&bounds, text::PERIOD_BOUNDS)])
}

/// A limit's name: a DNS label.
pub(super) fn limit_name() -> Value {
    form(LIMIT_NAME, text::LIMIT_NAME)
}

/// One CEL rule about a field, `.rate.requests`, with the message shown when it does not hold.
fn rule_at(field: &str, rule: &str, message: &str) -> Value {
    json!({"rule": rule, "message": message, "fieldPath": field})
}

/// That a number of `cost` is not more than the limit holds; nothing passes where that is 0, whatever it costs. `unless` is
/// where it need not be said.
fn cost_can_pass(number: &str, unless: &str) -> Value {
    let given = format!("!has(self.cost) || !has(self.cost.{number}) || {unless}self.rate.requests == 0");
    let holds = format!("self.cost.{number} <= (has(self.burst) ? self.burst : self.rate.requests)");
    rule_at(&format!(".cost.{number}"), &format!("{given} || {holds}"), text::COST_CAPACITY)
}

/// What a request costs is said in one way, and the numbers are in order.
pub(super) fn cost() -> Value {
    json!([
        rule("has(self.value) != has(self.header)", text::ONE_COST),
        rule_at(".default", "!has(self.value) || !has(self.default)", text::COST_WITH_HEADER),
        rule_at(".max", "!has(self.value) || !has(self.max)", text::COST_WITH_HEADER),
        rule_at(".default", "!has(self.default) || !has(self.max) || self.default <= self.max", text::COST_DEFAULT),
    ])
}

/// Only a bucket has a burst; a log is not endless; what a request costs can pass.
pub(super) fn limit() -> Value {
    json!([
        cost_can_pass("value", ""),
        cost_can_pass("default", "has(self.cost.max) || "),
        cost_can_pass("max", ""),
        {
            "rule": "self.algorithm in ['TokenBucket', 'LeakyBucket'] || !has(self.burst)",
            "message": text::BURST_ALGORITHM,
            "fieldPath": ".burst",
        },
        {
            "rule": "self.algorithm != 'SlidingLog' || self.rate.requests <= 100000",
            "message": text::LOG_REQUESTS,
            "fieldPath": ".rate.requests",
        },
    ])
}

/// A key has one source.
pub(super) fn key_source() -> Value {
    json!([rule("has(self.header) != has(self.clientAddress)", text::ONE_KEY_SOURCE)])
}

/// A path is matched in one way.
pub(super) fn path_match() -> Value {
    json!([rule("has(self.exact) != has(self.prefix)", text::ONE_PATH_FORM)])
}

/// The status of a refusal.
pub(super) fn status() -> Value {
    json!([rule("self != 401 && self != 407", text::STATUS)])
}

/// A header's name (RFC 9110 §5.1, token).
pub(super) fn header_name() -> Value {
    form(HEADER_NAME, text::HEADER_NAME)
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
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{PolicyEntry, compile};

    /// Texts of a form; the generator knows no anchors.
    fn of_form(pattern: &str) -> impl Strategy<Value = String> {
        proptest::string::string_regex(pattern.trim_start_matches('^').trim_end_matches('$')).unwrap()
    }

    /// What compile says of a spec with these texts in it.
    fn faults(name: &str, header: &str, method: &str, period: &str) -> Option<String> {
        let limit = json!({
            "name": name, "match": {"methods": [method]}, "keys": [{"header": {"name": header}}],
            "algorithm": "FixedWindow", "rate": {"requests": 1, "period": period},
        });
        let spec = json!({"limits": [limit]});
        let entry = PolicyEntry { namespace: "n".into(), name: "p".into(), uid: String::new(), generation: 1, spec };
        compile(&entry).err().map(|faults| faults.to_string())
    }

    /// What stands in a limit of 10 a second by this algorithm and breaks one rule of the schema; where the rule says so,
    /// and in which words.
    const BROKEN: [(&str, &str, &str, &str); 9] = [
        ("FixedWindow", r#"{"burst": 5}"#, ".burst", text::BURST_ALGORITHM),
        ("SlidingLog", r#"{"rate": {"requests": 100001, "period": "1s"}}"#, ".rate.requests", text::LOG_REQUESTS),
        ("FixedWindow", r#"{"cost": {}}"#, ".cost", text::ONE_COST),
        ("FixedWindow", r#"{"cost": {"value": 1, "default": 1}}"#, ".cost.default", text::COST_WITH_HEADER),
        ("FixedWindow", r#"{"cost": {"value": 1, "max": 1}}"#, ".cost.max", text::COST_WITH_HEADER),
        (
            "FixedWindow",
            r#"{"cost": {"header": {"name": "c"}, "default": 3, "max": 2}}"#,
            ".cost.default",
            text::COST_DEFAULT,
        ),
        ("FixedWindow", r#"{"cost": {"value": 11}}"#, ".cost.value", text::COST_CAPACITY),
        (
            "TokenBucket",
            r#"{"burst": 5, "cost": {"header": {"name": "c"}, "max": 6}}"#,
            ".cost.max",
            text::COST_CAPACITY,
        ),
        (
            "TokenBucket",
            r#"{"burst": 5, "cost": {"header": {"name": "c"}, "default": 6}}"#,
            ".cost.default",
            text::COST_CAPACITY,
        ),
    ];

    #[test]
    fn compile_refuses_what_a_rule_refuses_in_the_same_place_and_words() {
        for (algorithm, more, place, words) in BROKEN {
            let mut limit = json!({"name": "a", "algorithm": algorithm, "rate": {"requests": 10, "period": "1s"}});
            let more: Value = serde_json::from_str(more).unwrap();
            limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let spec: crate::RateLimitPolicySpec = serde_json::from_value(json!({"limits": [limit]})).unwrap();
            let found = crate::compile_spec(&spec).unwrap_err().to_string();
            assert!(found.starts_with(&format!("spec.limits[0]{place}: {words}")) && !found.contains('\n'), "{found}");
        }
    }

    #[test]
    fn every_rule_of_a_limit_has_its_like_in_compile() {
        let rules = |at: &str, rules: Value| -> Vec<(String, String)> {
            let word = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_owned();
            let of = |rule: &Value| (format!("{at}{}", word(rule, "fieldPath")), word(rule, "message"));
            rules.as_array().unwrap().iter().map(of).collect()
        };
        for (place, words) in [rules("", limit()), rules(".cost", cost())].concat() {
            let like = BROKEN.iter().any(|(_, _, at, said)| (*at, *said) == (place.as_str(), words.as_str()));
            assert!(like, "{place}: {words}");
        }
    }

    proptest! {
        #[test]
        fn what_the_api_server_lets_through_compile_lets_through(
            name in of_form(&LIMIT_NAME.replace("]*[", "]{0,61}[")),
            header in of_form(&HEADER_NAME.replace("]+", "]{1,20}")),
            method in of_form(&METHOD.replace("]*", "]{0,31}")),
        ) {
            prop_assert_eq!(faults(&name, &header, &method, "1s"), None);
        }

        #[test]
        fn a_period_of_the_form_is_read_and_only_its_bounds_can_be_wrong(period in of_form(PERIOD)) {
            let found = faults("a", "x", "GET", &period).unwrap_or_default();
            prop_assert!(period.is_empty() || !found.contains(text::PERIOD_FORM), "{:?}: {}", period, found);
        }

        #[test]
        fn a_period_that_is_read_is_of_the_form(period in "[0-9]{0,2}[hmsu]{0,2}[0-9]{0,2}[hmsu]{0,2}") {
            // each unit at most once and largest first, as the expression has it
            let units: Vec<&str> = period.split(|c: char| c.is_ascii_digit()).filter(|unit| !unit.is_empty()).collect();
            let known = ["h", "m", "s", "ms", "us"];
            let places: Option<Vec<usize>> = units.iter().map(|u| known.iter().position(|k| k == u)).collect();
            let ordered = places.is_some_and(|p| p.windows(2).all(|w| w[0] < w[1]));
            let digits_first = period.starts_with(|c: char| c.is_ascii_digit()) && !period.ends_with(|c: char| c.is_ascii_digit());
            prop_assert_eq!(crate::duration::parse(&period).is_some(), ordered && digits_first, "{:?}", period);
        }
    }
}
