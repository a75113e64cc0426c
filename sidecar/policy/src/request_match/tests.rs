//! What may be meant and what surely is: a limit is never narrower than a reading, an exemption never wider.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{PolicyEntry, RequestView, RouteTable, compile};

struct Request {
    method: Method,
    target: Uri,
    headers: HeaderMap,
    has_body: bool,
}

fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
    }
    Request { method: method.parse().unwrap(), target: target.parse().unwrap(), headers: map, has_body: false }
}

/// Whether a request is exempt by its own match, and limited by it.
fn told(exempt: Value, matches: Value, request: &Request) -> (bool, bool) {
    let limit = |name: &str, more: Value| {
        let mut limit = json!({"name": name, "algorithm": "FixedWindow", "rate": {"requests": 5, "period": "1m"}});
        limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        limit
    };
    let policy = |name: &str, spec: Value| {
        let entry = PolicyEntry { namespace: "n".into(), name: name.into(), uid: String::new(), generation: 1, spec };
        std::sync::Arc::new(compile(&entry).unwrap())
    };
    let table = RouteTable::new(vec![
        policy("exempting", json!({"exempt": [exempt], "limits": [limit("all", json!({}))]})),
        policy("limiting", json!({"limits": [limit("some", json!({"match": matches}))]})),
    ]);
    let Request { method, target, headers, has_body } = request;
    let peer = "203.0.113.7".parse().unwrap();
    let lookup = table.lookup(&RequestView { method, target, headers, has_body: *has_body, peer });
    let counted: Vec<&str> = lookup.checks.iter().map(|check| check.limit.name.as_str()).collect();
    (!counted.contains(&"all"), counted.contains(&"some"))
}

/// Whether a match surely holds, and whether it may.
fn holds(matches: Value, request: &Request) -> (bool, bool) {
    told(json!({"match": matches}), matches, request)
}

const NO: (bool, bool) = (false, false);
const MAYBE: (bool, bool) = (false, true);
const YES: (bool, bool) = (true, true);

#[test]
fn all_parts_must_hold_and_of_a_list_one_or_all() {
    let matches = json!({
        "methods": ["GET", "POST"], "hosts": ["a.example", "*.b.example"], "paths": [{"prefix": "/a"}, {"regex": "^/v[0-9]+/"}],
        "headers": [{"name": "x-plan", "exact": "pro"}, {"name": "x-team", "present": true}],
        "query": [{"name": "q", "present": true}], "clientAddresses": ["203.0.113.0/24", "::1/128"],
    });
    let headers = [("host", "c.b.example:80"), ("x-plan", "pro"), ("x-team", "")];
    assert_eq!(holds(matches.clone(), &request("GET", "/a/b?q=1", &headers)), YES);
    assert_eq!(holds(matches.clone(), &request("POST", "/v10/x?q", &headers)), YES);
    assert_eq!(holds(matches.clone(), &request("PUT", "/a/b?q=1", &headers)), NO);
    assert_eq!(holds(matches.clone(), &request("GET", "/b?q=1", &headers)), NO);
    assert_eq!(holds(matches.clone(), &request("GET", "/a?p=1", &headers)), NO);
    assert_eq!(holds(matches.clone(), &request("GET", "/a?q=1", &headers[..2])), NO);
    let elsewhere = [("host", "b.example"), ("x-plan", "pro"), ("x-team", "")];
    assert_eq!(holds(matches, &request("GET", "/a?q=1", &elsewhere)), NO);
    assert_eq!(holds(json!({"clientAddresses": ["198.51.100.0/24"]}), &request("GET", "/", &[])), NO);
    for unnamed in [&[][..], &[("host", "")]] {
        assert_eq!(holds(json!({"hosts": ["a.example"]}), &request("GET", "/", unnamed)), MAYBE);
    }
}

#[test]
fn a_path_that_can_be_read_otherwise_is_limited_and_not_exempt() {
    let health = json!({"paths": [{"exact": "/healthz"}]});
    for plain in ["/healthz", "/healthz/", "/healthz?x=/", "/%68ealthz"] {
        let surely = !plain.contains('%');
        assert_eq!(holds(health.clone(), &request("GET", plain, &[])), (surely, true), "{plain}");
    }
    for odd in ["/admin/..%2fhealthz", "/healthz;/admin/..", "/x/../healthz", "/healthz;a=b", "//healthz"] {
        assert_eq!(holds(health.clone(), &request("GET", odd, &[])), MAYBE, "{odd}");
    }
    let api = json!({"paths": [{"regex": "^/api(/|$)"}]});
    for (target, told) in [("/api", YES), ("/api/", YES), ("/api/x", YES), ("/apis", NO), ("/x/..%2fapi", MAYBE)] {
        assert_eq!(holds(api.clone(), &request("GET", target, &[])), told, "{target}");
    }
    assert_eq!(holds(json!({"paths": [{"regex": "^/a/.*$"}]}), &request("GET", "/a/b%0Ac", &[])), YES);
    assert_eq!(holds(json!({"paths": [{"regex": "^/$"}]}), &request("GET", "/", &[])), YES);
    assert_eq!(holds(json!({"paths": [{"regex": "/$"}]}), &request("GET", "/a", &[])), NO);
    assert_eq!(holds(json!({"paths": [{"regex": "^/a$"}]}), &request("GET", "/a/", &[])), MAYBE);
}

#[test]
fn case_is_ignored_where_the_match_says_so() {
    let folded = |matches: Value| {
        let mut matches = matches;
        matches["caseInsensitive"] = json!(true);
        matches
    };
    for matches in [
        json!({"paths": [{"exact": "/Login"}]}),
        json!({"paths": [{"prefix": "/LOG/"}, {"regex": "^/Login$"}]}),
        json!({"headers": [{"name": "X-Plan", "exact": "Pro"}]}),
        json!({"query": [{"name": "Q", "regex": "^A"}]}),
    ] {
        let request = request("GET", "/login?q=a", &[("x-plan", "pro")]);
        assert_eq!(holds(matches.clone(), &request), NO, "{matches}");
        assert_eq!(holds(folded(matches.clone()), &request), YES, "{matches}");
    }
}

#[test]
fn a_header_in_two_values_or_another_spelling_is_limited_and_not_exempt() {
    let plan = json!({"headers": [{"name": "x-plan", "exact": "pro"}]});
    let of = |headers: &[(&str, &str)]| holds(plan.clone(), &request("GET", "/", headers));
    assert_eq!(of(&[("x-plan", " pro ")]), YES);
    assert_eq!(of(&[("x-plan", "free")]), NO);
    assert_eq!(of(&[("x-plan", "pro"), ("x-plan", "free")]), MAYBE);
    assert_eq!(of(&[("x-plan", "pro"), ("x-plan", "pro")]), MAYBE);
    assert_eq!(of(&[("x-plan", "pro"), ("x_plan", "free")]), MAYBE);
    assert_eq!(of(&[("x_plan", "pro")]), MAYBE);
    let joined = json!({"headers": [{"name": "accept", "exact": "a, b"}]});
    assert_eq!(holds(joined, &request("GET", "/", &[("accept", "a"), ("accept", "b")])), MAYBE);
}

#[test]
fn a_parameter_is_read_as_the_application_may() {
    let q = json!({"query": [{"name": "q", "exact": "a b"}]});
    let of = |target: &str| holds(q.clone(), &request("GET", target, &[]));
    for target in ["/?q=a+b", "/?q=a%20b", "/?x=1&%71=a%20b"] {
        assert_eq!(of(target), YES, "{target}");
    }
    for target in ["/?q=a+b&q=c", "/?x=1;q=a+b", "/?q=a+b;x=1"] {
        assert_eq!(of(target), MAYBE, "{target}");
    }
    for target in ["/", "/?q=ab", "/?Q=a+b", "/q=a+b"] {
        assert_eq!(of(target), NO, "{target}");
    }
}

#[test]
fn a_method_that_is_overridden_is_limited_as_either_and_exempt_as_both() {
    let reads = json!({"methods": ["GET"]});
    assert_eq!(holds(reads.clone(), &request("HEAD", "/", &[])), YES);
    assert_eq!(holds(reads.clone(), &request("GET", "/", &[("x-http-method-override", "DELETE")])), MAYBE);
    assert_eq!(holds(reads, &request("POST", "/", &[("x-http-method-override", "GET")])), MAYBE);
}

#[test]
fn a_preflight_is_what_browsers_send_and_nothing_else() {
    let asked = [("origin", "https://a.example"), ("access-control-request-method", "PUT")];
    let exempt = |request: &Request| told(json!({"corsPreflight": true}), json!({}), request).0;
    assert!(exempt(&request("OPTIONS", "/any", &asked)));
    assert!(!exempt(&request("GET", "/any", &asked)));
    assert!(!exempt(&request("OPTIONS", "/any", &asked[..1])));
    assert!(!exempt(&request("OPTIONS", "/any", &asked[1..])));
    let overriding = [("x-http-method-override", "PUT"), ("x_http_method", "OPTIONS")];
    let who = [("authorization", "Bearer x"), ("authorization", ""), ("cookie", "a=b")];
    for more in [[("origin", "https://b.example"), asked[1]].as_slice(), &overriding, &who].concat() {
        assert!(!exempt(&request("OPTIONS", "/any", &[asked[0], asked[1], more])), "{more:?}");
    }
    let with_body = Request { has_body: true, ..request("OPTIONS", "/any", &asked) };
    assert!(!exempt(&with_body));
}

#[test]
fn a_long_odd_path_is_limited_by_any_path_and_exempt_by_none() {
    let long = format!("/{}", "%2e/".repeat(600));
    let everything = json!({"paths": [{"prefix": "/"}]});
    assert_eq!(holds(everything, &request("GET", &long, &[])), MAYBE);
    assert_eq!(holds(json!({"paths": [{"exact": "/login"}]}), &request("GET", &long, &[])), MAYBE);
    let plain = format!("/{}", "x/".repeat(1200));
    assert_eq!(holds(json!({"paths": [{"prefix": "/x"}]}), &request("GET", &plain, &[])), YES);
    assert_eq!(holds(json!({"paths": [{"exact": "/login"}]}), &request("GET", &plain, &[])), NO);
}

proptest! {
    /// Whatever is surely meant may be meant; and it is told so by whatever the request is sent as.
    #[test]
    fn what_surely_holds_may_hold(
        path in "(/|%2f|%2e|\\.|;|a|b|%61|\\\\){1,8}",
        query in "(a|b|=|&|;|%61|\\+){0,8}",
        header in prop::collection::vec(("(x-plan|x_plan)", "(a|b|)"), 0..3),
        regex in any::<bool>(),
    ) {
        let pattern = if regex { json!({"regex": "^/a"}) } else { json!({"prefix": "/a"}) };
        let target = format!("/{path}?{query}");
        let headers: Vec<(&str, &str)> = header.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        if target.parse::<Uri>().is_err() {
            return Ok(());
        }
        let request = request("GET", &target, &headers);
        for matches in [json!({"paths": [pattern]}), json!({"query": [{"name": "a", "regex": "b"}]}), json!({"headers": [{"name": "x-plan", "exact": "a"}]})] {
            let (surely, maybe) = holds(matches, &request);
            prop_assert!(maybe || !surely);
        }
    }
}
