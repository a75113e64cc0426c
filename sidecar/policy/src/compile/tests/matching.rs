//! What can be wrong with a match, an exemption or a tier, in which words; and what warns.

use super::*;

/// What is wrong with a limit with these fields more.
fn wrong(more: Value) -> Vec<String> {
    let mut limit = json!({"name": "a", "algorithm": "TokenBucket", "rate": {"requests": 10, "period": "1s"}});
    limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    faults(json!({"limits": [limit]}))
}

/// What is wrong with a policy that exempts these.
fn wrong_exempt(exempt: Value) -> Vec<String> {
    faults(
        json!({"exempt": exempt, "limits": [{"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}}]}),
    )
}

fn warnings(spec: Value) -> Vec<String> {
    compile(&entry(spec)).unwrap().warnings.iter().map(Fault::to_string).collect()
}

#[test]
fn each_fault_of_a_match_names_its_field_and_what_would_be_right() {
    let cases = [
        (json!({"hosts": ["shop.example:80"]}), "hosts[0]: must be a host without a port, such as shop.example"),
        (json!({"hosts": ["a", "*"]}), "hosts[1]: must be a host"),
        (json!({"hosts": []}), "hosts: must have at least 1 entry, has 0"),
        (json!({"paths": [{"regex": "^/a("}]}), "paths[0].regex: is no regular expression: unclosed group"),
        (
            json!({"paths": [{"regex": "(a{1,1000}){1,1000}"}]}),
            "paths[0].regex: is too large: it takes more than 256 KiB",
        ),
        (json!({"paths": [{"regex": "a".repeat(513)}]}), "paths[0].regex: must have at most 512 characters, has 513"),
        (json!({"paths": [{"regex": "a", "exact": "/a"}]}), "paths[0]: must have exactly one of exact, prefix, regex"),
        (json!({"headers": [{"name": "x-plan"}]}), "headers[0]: must have exactly one of exact, regex, present"),
        (
            json!({"headers": [{"name": "x-plan", "exact": "a", "present": true}]}),
            "headers[0]: must have exactly one of",
        ),
        (
            json!({"headers": [{"name": "x-plan", "present": false}]}),
            "headers[0].present: must be true: leave it out otherwise",
        ),
        (json!({"headers": [{"name": "x plan", "exact": "a"}]}), "headers[0].name: must be a header name such as"),
        (json!({"headers": [{"name": "Host", "exact": "a"}]}), "headers[0].name: host is not carried by HTTP/2"),
        (
            json!({"headers": [{"name": "x", "exact": " a"}]}),
            "headers[0].exact: must not begin or end with white space",
        ),
        (
            json!({"headers": [{"name": "x", "present": "true"}]}),
            "present: must be true or false, is the string \"true\"; write it without quotes",
        ),
        (json!({"query": [{"name": "", "exact": "a"}]}), "query[0].name: must have at least 1 character, has 0"),
        (
            json!({"query": [{"name": "q", "regex": "["}]}),
            "query[0].regex: is no regular expression: unclosed character class",
        ),
        (json!({"clientAddresses": ["10.0.0"]}), "clientAddresses[0]: must be a network such as"),
        (
            json!({"clientAddresses": ["10.0.0.1/8"]}),
            "clientAddresses[0]: has address bits past its first 8: write 10.0.0.0/8",
        ),
        (
            json!({"methods": ["GET"], "caseInsensitive": true}),
            "caseInsensitive: goes with paths, headers or query only: leave it out",
        ),
        (json!({"caseInsensitive": 1}), "caseInsensitive: must be true or false, is the number 1"),
    ];
    for (matches, expected) in cases {
        let found = wrong(json!({"match": matches}));
        let expected = format!("spec.limits[0].match.{expected}");
        let expected =
            if expected.contains(".present: must be true or") { "present: must be true or false" } else { &expected };
        assert!(found.len() == 1 && found[0].contains(expected), "{matches}\n wanted {expected}\n found {found:#?}");
    }
}

#[test]
fn each_fault_of_an_exemption_names_its_field_and_what_would_be_right() {
    let cases = [
        (json!([{}]), "spec.exempt[0]: must have exactly one of match, corsPreflight"),
        (json!([{"corsPreflight": false}]), "spec.exempt[0].corsPreflight: must be true: leave it out otherwise"),
        (json!([{"corsPreflight": true}, {"match": {}}]), "spec.exempt[1].match: must say which requests"),
        (
            json!([{"match": {"caseInsensitive": true}}]),
            "spec.exempt[0].match.caseInsensitive: goes with paths, headers or query only",
        ),
        (json!([{"match": {"paths": [{"exact": "x"}]}}]), "spec.exempt[0].match.paths[0].exact: must start with /"),
    ];
    for (exempt, expected) in cases {
        let found = wrong_exempt(exempt.clone());
        assert!(found.len() == 1 && found[0].starts_with(expected), "{exempt}\n wanted {expected}\n found {found:#?}");
    }
}

#[test]
fn each_fault_of_a_tier_names_its_field_and_what_would_be_right() {
    let pro = json!({"headers": [{"name": "x-plan", "exact": "pro"}]});
    let rate = json!({"requests": 100, "period": "1s"});
    let cases = [
        (json!([{"name": "A", "match": pro, "rate": rate}]), "tiers[0].name: must be 1 to 63 lower-case letters"),
        (json!([{"name": "a", "match": {}, "rate": rate}]), "tiers[0].match: must say which requests"),
        (json!([{"name": "a", "rate": rate}]), "tiers[0].match: is required"),
        (json!([{"name": "a", "match": pro}]), "tiers[0].rate: is required"),
        (
            json!([{"name": "a", "match": pro, "rate": {"requests": 1, "period": "1x"}}]),
            "tiers[0].rate.period: must be a length of time",
        ),
        (
            json!([{"name": "a", "match": pro, "rate": rate, "burst": 0}]),
            "tiers[0].burst: must be 1 to 1000000000, is 0",
        ),
        (
            json!([{"name": "a", "match": pro, "rate": rate}, {"name": "a", "match": pro, "rate": rate}]),
            "tiers[1].name: \"a\" is already the name of spec.limits[0].tiers[0]",
        ),
    ];
    for (tiers, expected) in cases {
        let found = wrong(json!({"tiers": tiers}));
        assert!(
            found.len() == 1 && found[0].starts_with(&format!("spec.limits[0].{expected}")),
            "{tiers}\n wanted {expected}\n found {found:#?}"
        );
    }
    let small = json!([{"name": "free", "match": pro, "rate": {"requests": 2, "period": "1s"}}]);
    let found = wrong(json!({"tiers": small, "cost": {"value": 3}}));
    assert_eq!(
        found,
        ["spec.limits[0].tiers[0]: must hold at least cost.value, or no request can pass; holds 2 and cost.value is 3"]
    );
    // of a window there is no burst to give
    let tiers = json!([{"name": "a", "match": pro, "rate": rate, "burst": 5}]);
    let found = wrong(json!({"algorithm": "FixedWindow", "tiers": tiers}));
    assert!(
        found.len() == 1 && found[0].starts_with("spec.limits[0].tiers[0].burst: goes with TokenBucket"),
        "{found:#?}"
    );
}

#[test]
fn what_clients_choose_for_themselves_warns() {
    let by_plan = json!({"headers": [{"name": "x-plan", "exact": "pro"}], "query": [{"name": "q", "present": true}], "hosts": ["a.example"]});
    let rate = json!({"requests": 10, "period": "1s"});
    let spec = |matches: &Value| {
        let tier = json!({"name": "pro", "match": matches, "rate": rate});
        let limit = json!({"name": "a", "algorithm": "FixedWindow", "rate": rate, "tiers": [tier]});
        json!({"exempt": [{"match": matches}], "limits": [limit]})
    };
    assert_eq!(
        warnings(spec(&by_plan)),
        [
            "spec.exempt[0].match: whoever sends the request chooses host and header x-plan and query parameter q, so that each may exempt itself",
            "spec.limits[0].tiers[0].match: whoever sends the request chooses host and header x-plan and query parameter q, so that each may take tier pro of a",
        ]
    );
    for unchosen in [
        json!({"paths": [{"exact": "/healthz"}]}),
        json!({"clientAddresses": ["10.0.0.0/8"], "headers": [{"name": "x-plan", "exact": "pro"}]}),
    ] {
        assert_eq!(warnings(spec(&unchosen)), [""; 0], "{unchosen}");
    }
}

#[test]
fn a_cost_from_the_query_is_held_to_what_one_from_a_header_is() {
    assert_eq!(wrong(json!({"cost": {"query": {"name": "n"}, "max": 10}})), [""; 0]);
    for (cost, expected) in [
        (
            json!({"query": {"name": "n"}, "header": {"name": "n"}}),
            "cost: must have exactly one of value, header, query",
        ),
        (json!({"query": {"name": "n"}, "max": 11}), "cost.max: must be at most burst"),
        (json!({"query": {"name": "n"}, "default": 3, "max": 2}), "cost.default: must be at most max"),
        (json!({"query": {"name": ""}}), "cost.query.name: must have at least 1 character"),
    ] {
        let found = wrong(json!({"cost": cost}));
        assert!(found.len() == 1 && found[0].starts_with(&format!("spec.limits[0].{expected}")), "{cost}: {found:#?}");
    }
    let limit = json!({"name": "a", "algorithm": "FixedWindow", "rate": {"requests": 9, "period": "1s"}, "cost": {"query": {"name": "n"}}});
    let said = "spec.limits[0].cost.query: whoever sends the request chooses what query parameter n says, so that each may cost as little as 1 of a";
    assert_eq!(warnings(json!({"limits": [limit]})), [said]);
}
