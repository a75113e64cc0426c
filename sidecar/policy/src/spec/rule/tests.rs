//! What the API server checks by itself and what `compile` says are the same.

use proptest::prelude::*;

use super::*;
use crate::{PolicyEntry, compile};

/// Texts of a form; the generator knows no anchors.
fn of_form(pattern: &str) -> impl Strategy<Value = String> {
    proptest::string::string_regex(pattern.trim_start_matches('^').trim_end_matches('$')).unwrap()
}

/// What compile says of a spec with these texts in it.
fn faults(name: &str, token: &str, method: &str, period: &str) -> Option<String> {
    let limit = json!({
        "name": name, "match": {"methods": [method]}, "keys": [{"header": {"name": token}}, {"cookie": {"name": token}}],
        "algorithm": "FixedWindow", "rate": {"requests": 1, "period": period},
    });
    let spec = json!({"limits": [limit]});
    let entry = PolicyEntry { namespace: "n".into(), name: "p".into(), uid: String::new(), generation: 1, spec };
    compile(&entry).err().map(|faults| faults.to_string())
}

/// What stands in a limit of 10 a second by this algorithm and breaks one rule of the schema; where the rule says so,
/// and in which words.
const BROKEN: [(&str, &str, &str, &str); 13] = [
    ("FixedWindow", r#"{"keys": [{}]}"#, ".keys[0]", text::ONE_KEY_SOURCE),
    ("FixedWindow", r#"{"keys": [{"host": {}, "path": {}}]}"#, ".keys[0]", text::ONE_KEY_SOURCE),
    ("TokenBucket", r#"{"queue": {"maxWait": "1s"}}"#, ".queue", text::QUEUE_ALGORITHM),
    (
        "LeakyBucket",
        r#"{"queue": {"maxWait": "1s"}, "slowdown": {"fromPercent": 1, "maxDelay": "1s"}}"#,
        ".slowdown",
        text::SLOWDOWN_QUEUE,
    ),
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
    ("TokenBucket", r#"{"burst": 5, "cost": {"header": {"name": "c"}, "max": 6}}"#, ".cost.max", text::COST_CAPACITY),
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
fn whom_to_trust_is_said_in_one_way_in_the_same_words() {
    let rules = client_address();
    let [one] = &rules.as_array().unwrap()[..] else { panic!("{rules}") };
    for wrong in [json!({}), json!({"trustedHops": 1, "trustedCIDRs": ["10.0.0.0/8"]})] {
        let limit = json!({"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}});
        let spec: crate::RateLimitPolicySpec =
            serde_json::from_value(json!({"clientAddress": wrong, "limits": [limit]})).unwrap();
        let found = crate::compile_spec(&spec).unwrap_err().to_string();
        assert_eq!(found, format!("spec.clientAddress: {}", one["message"].as_str().unwrap()));
    }
}

#[test]
fn every_rule_of_a_limit_has_its_like_in_compile() {
    let rules = |at: &str, rules: Value| -> Vec<(String, String)> {
        let word = |rule: &Value, name: &str| rule[name].as_str().unwrap_or_default().to_owned();
        let of = |rule: &Value| (format!("{at}{}", word(rule, "fieldPath")), word(rule, "message"));
        rules.as_array().unwrap().iter().map(of).collect()
    };
    for (place, words) in [rules("", limit()), rules(".cost", cost()), rules(".keys[0]", key_source())].concat() {
        let like = BROKEN.iter().any(|(_, _, at, said)| (*at, *said) == (place.as_str(), words.as_str()));
        assert!(like, "{place}: {words}");
    }
}

#[test]
fn a_token_is_the_same_to_the_api_server_and_to_compile() {
    for letter in (0_u8..128).map(char::from) {
        let spec = json!({"limits": [{"name": "a", "keys": [{"cookie": {"name": letter.to_string()}}],
            "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}}]});
        let spec: crate::RateLimitPolicySpec = serde_json::from_value(spec).unwrap();
        let is_token = TOKEN.trim_start_matches("^[").split("]+").next().unwrap();
        let is_token = letter.is_ascii_alphanumeric() || is_token.trim_start_matches("A-Za-z0-9").contains(letter);
        let found = crate::compile_spec(&spec).err().map(|faults| faults.to_string());
        assert_eq!(found.is_none(), is_token, "{letter:?} {found:?}");
        assert!(found.is_none_or(|found| found.ends_with(text::COOKIE_NAME)), "{letter:?}");
    }
}

#[test]
fn the_fields_of_a_key_are_those_of_the_schema() {
    let schema = schemars::schema_for!(KeySource);
    let fields: Vec<&str> = schema.get("properties").unwrap().as_object().unwrap().keys().map(String::as_str).collect();
    let mut known = KeySource::FIELDS;
    known.sort_unstable();
    let mut fields = fields;
    fields.sort_unstable();
    assert_eq!(fields, known);
}

proptest! {
    #[test]
    fn what_the_api_server_lets_through_compile_lets_through(
        name in of_form(&LIMIT_NAME.replace("]*[", "]{0,61}[")),
        token in of_form(&TOKEN.replace("]+", "]{1,20}")),
        method in of_form(&METHOD.replace("]*", "]{0,31}")),
    ) {
        // headers of one hop are of the form, and for compile to refuse
        let found = faults(&name, &token, &method, "1s").filter(|found| !found.contains("name another header"));
        prop_assert_eq!(found, None);
    }

    #[test]
    fn a_period_of_the_form_is_read_and_only_its_bounds_can_be_wrong(period in of_form(TIME)) {
        let found = faults("a", "x", "GET", &period).unwrap_or_default();
        prop_assert!(period.is_empty() || !found.contains(text::TIME_FORM), "{:?}: {}", period, found);
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
