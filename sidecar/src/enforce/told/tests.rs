//! Headers beside those of an application, and times that pass before a response goes out.
use super::*;
use serde_json::{Value, json};
use std::sync::Arc;
use weir_policy::{Identity, Policy, PolicyEntry, compile};

fn policy(name: &str, response: Value) -> Arc<Policy> {
    let limit =
        |name: &str| json!({"name": name, "algorithm": "FixedWindow", "rate": {"requests": 20, "period": "1m"}});
    let spec = json!({"response": response, "limits": [limit("a"), limit("b")]});
    let entry = PolicyEntry { namespace: "shop".into(), name: name.into(), uid: String::new(), generation: 1, spec };
    Arc::new(compile(&entry).unwrap())
}

fn checks(policies: &[Arc<Policy>]) -> Vec<LimitCheck<'_>> {
    let mut all = Vec::new();
    for policy in policies {
        all.extend(policy.limits.iter().map(|limit| LimitCheck {
            policy,
            limit,
            applied: limit.limit,
            identity: Identity::default(),
            cost: 1,
        }));
    }
    all
}

const STANDING: Standing = Standing {
    limit: 20,
    remaining: 3,
    reset: Duration::from_millis(40_100),
    least: Duration::ZERO,
    more: Some(Duration::from_millis(1_200)),
};

/// Half a second into the second 1,800,000,000.
fn moment(instant: Instant) -> Moment {
    Moment { instant, date: UNIX_EPOCH + Duration::from_millis(1_800_000_000_500) }
}

/// What a response that had these headers has when it goes out `after` the decision: by name, a list's lines joined.
fn response_after(after: Duration, response: Value, application: &[(&'static str, &str)]) -> Vec<String> {
    let policies = [policy("api", response)];
    let (checks, at) = (checks(&policies), Instant::now());
    let mut headers = HeaderMap::new();
    for (name, value) in application {
        headers.append(*name, value.parse().unwrap());
    }
    if let Some(told) = Told::new(&checks[1], STANDING, &checks, at) {
        told.apply(&mut headers, moment(at + after));
    }
    let line = |name: &HeaderName| {
        let values: Vec<&str> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        format!("{name}: {}", values.join(", "))
    };
    let mut names: Vec<&HeaderName> = headers.keys().collect();
    names.sort_by_key(|name| name.as_str());
    names.into_iter().map(line).collect()
}

fn response(response: Value, application: &[(&'static str, &str)]) -> Vec<String> {
    response_after(Duration::ZERO, response, application)
}

const POLICIES: &str = r#"ratelimit-policy: "api/b";q=20;w=60, "api/a";q=20;w=60"#;
const LEFT: &str = r#"ratelimit: "api/b";r=3;t=2;a=3;w=2"#;
const GROUP: [&str; 3] = ["x-ratelimit-limit: 20", "x-ratelimit-remaining: 3", "x-ratelimit-reset: 41"];

#[test]
fn each_group_is_sent_when_it_is_asked_for_and_off_means_off() {
    assert_eq!(response(json!({}), &[]), GROUP);
    assert_eq!(response(json!({"headers": ["RateLimit"]}), &[]), [LEFT, POLICIES]);
    let both = response(json!({"headers": ["RateLimit", "XRateLimit"]}), &[]);
    assert_eq!(both, [LEFT, POLICIES, GROUP[0], GROUP[1], GROUP[2]]);
    assert_eq!(response(json!({"headers": []}), &[("x-own", "1")]), ["x-own: 1"]);
}

#[test]
fn any_header_of_the_kind_keeps_the_group_out() {
    for name in ["x-ratelimit-limit", "x-ratelimit-reset", "x-ratelimit-used"] {
        assert_eq!(response(json!({}), &[(name, "7")]), [format!("{name}: 7")]);
    }
    assert_eq!(response(json!({}), &[("x-ratelimit", "7")]).len(), 4, "another header");
}

#[test]
fn replace_takes_out_all_of_the_kind() {
    let theirs = [("x-ratelimit-used", "7"), ("x-ratelimit-limit", "8"), ("x-ratelimit-limit", "9"), ("x-own", "1")];
    assert_eq!(response(json!({"existing": "Replace"}), &theirs), ["x-own: 1", GROUP[0], GROUP[1], GROUP[2]]);
    // nothing of ours is sent, so nothing is replaced
    assert_eq!(response(json!({"existing": "Replace", "headers": []}), &theirs).len(), 3);
}

#[test]
fn lists_are_added_to_or_replaced() {
    let theirs = [("ratelimit", r#""own";r=1"#), ("ratelimit-policy", r#""own";q=2"#)];
    let added = response(json!({"headers": ["RateLimit"]}), &theirs);
    assert_eq!(added[0], format!(r#"ratelimit: "own";r=1, {}"#, &LEFT["ratelimit: ".len()..]));
    assert!(added[1].starts_with(r#"ratelimit-policy: "own";q=2, "api/b";"#), "{added:?}");
    for list in &added {
        sfv::Parser::new(list.split_once(": ").unwrap().1).parse::<sfv::List>().unwrap();
    }
    assert_eq!(response(json!({"headers": ["RateLimit"], "existing": "Replace"}), &theirs), [LEFT, POLICIES]);
}

#[test]
fn a_dictionary_of_an_application_stays_readable() {
    let theirs = [("ratelimit", "limit=100, remaining=50, reset=5"), ("ratelimit-policy", "100;w=60")];
    let kept = response(json!({"headers": ["RateLimit"]}), &theirs);
    assert_eq!(kept[0], "ratelimit: limit=100, remaining=50, reset=5");
    assert!(kept[1].starts_with("ratelimit-policy: 100;w=60, \"api/b\""), "{kept:?}");
}

#[test]
fn unix_seconds_are_those_of_the_date_and_never_early() {
    let unix = response(json!({"resetFormat": "UnixSeconds"}), &[]);
    // .5 and 40.1 more
    assert_eq!(unix[2], "x-ratelimit-reset: 1800000041");
}

#[test]
fn what_has_passed_before_the_response_goes_out_is_taken_off() {
    let headers = json!({"headers": ["RateLimit", "XRateLimit"]});
    let later = response_after(Duration::from_millis(1_150), headers.clone(), &[]);
    assert_eq!((&later[0][..], &later[4][..]), (r#"ratelimit: "api/b";r=3;t=1;a=3;w=1"#, "x-ratelimit-reset: 39"));
    let much_later = response_after(Duration::from_secs(100), headers, &[]);
    assert_eq!(
        (&much_later[0][..], &much_later[4][..]),
        (r#"ratelimit: "api/b";r=3;t=0;a=3;w=0"#, "x-ratelimit-reset: 0")
    );
}

#[test]
fn limits_of_policies_that_dont_tell_of_them_are_in_no_list() {
    let policies = [
        policy("a", json!({"headers": ["RateLimit"]})),
        policy("b", json!({"headers": []})),
        policy("c", json!({})),
        policy("d", json!({"headers": ["RateLimit"]})),
    ];
    let checks = checks(&policies);
    let told = Told::new(&checks[6], STANDING, &checks, Instant::now()).unwrap();
    let mut headers = HeaderMap::new();
    told.apply(&mut headers, moment(told.at));
    let list = headers["ratelimit-policy"].to_str().unwrap();
    let names: Vec<&str> = list.split(", ").map(|item| item.split(';').next().unwrap()).collect();
    assert_eq!(names, [r#""d/a""#, r#""a/a""#, r#""a/b""#, r#""d/b""#]);
}
