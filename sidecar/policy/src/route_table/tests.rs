//! Which limits a request meets, and which counts they mean.

use http::HeaderValue;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{PolicyEntry, compile};

fn policy(name: &str, limits: Value) -> Arc<Policy> {
    let spec = json!({"limits": limits});
    let entry = PolicyEntry { namespace: "shop".into(), name: name.into(), uid: String::new(), generation: 1, spec };
    Arc::new(compile(&entry).unwrap())
}

fn limit(name: &str, more: Value) -> Value {
    let mut limit = json!({"name": name, "algorithm": "FixedWindow", "rate": {"requests": 5, "period": "1m"}});
    limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    limit
}

/// A request, written as text.
struct Request {
    method: Method,
    target: Uri,
    headers: HeaderMap,
    peer: IpAddr,
}

fn request(method: &str, target: &str, headers: &[(&'static str, &str)]) -> Request {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).unwrap());
    }
    let peer = "203.0.113.7".parse().unwrap();
    Request { method: method.parse().unwrap(), target: target.parse().unwrap(), headers: map, peer }
}

impl Request {
    fn from(mut self, peer: &str) -> Self {
        self.peer = peer.parse().unwrap();
        self
    }

    fn view(&self) -> RequestView<'_> {
        RequestView {
            method: &self.method,
            target: &self.target,
            headers: &self.headers,
            has_body: false,
            peer: self.peer,
        }
    }
}

/// The names of the limits that a request meets.
fn met(table: &RouteTable, request: &Request) -> Vec<String> {
    table.lookup(&request.view()).checks.iter().map(|c| format!("{}/{}", c.policy.id.name, c.limit.name)).collect()
}

/// The one count that a request means.
fn identity(table: &RouteTable, request: &Request) -> Identity {
    let lookup = table.lookup(&request.view());
    assert!(lookup.rejected.is_none() && lookup.checks.len() == 1, "{lookup:?}");
    lookup.checks[0].identity.clone()
}

fn by_header(on_missing_key: &str) -> RouteTable {
    let key = json!({"keys": [{"header": {"name": "X-Tenant"}}], "onMissingKey": on_missing_key});
    RouteTable::new(vec![policy("api", json!([limit("t", key)]))])
}

#[test]
fn every_limit_of_every_policy_that_matches_applies_in_whatever_order() {
    let a =
        policy("a", json!([limit("all", json!({})), limit("api", json!({"match": {"paths": [{"prefix": "/api"}]}}))]));
    let b =
        policy("b", json!([limit("post", json!({"match": {"methods": ["POST"], "paths": [{"exact": "/api/x"}]}}))]));
    for table in [RouteTable::new(vec![a.clone(), b.clone()]), RouteTable::new(vec![b, a])] {
        assert_eq!(met(&table, &request("POST", "/api/x?q=1", &[])), ["a/all", "a/api", "b/post"]);
        assert_eq!(met(&table, &request("GET", "/api/x", &[])), ["a/all", "a/api"]);
        assert_eq!(met(&table, &request("POST", "http://host/other", &[])), ["a/all"]);
        assert_eq!(met(&table, &request("OPTIONS", "*", &[])), ["a/all"]);
    }
    assert!(met(&RouteTable::default(), &request("GET", "/", &[])).is_empty());
}

#[test]
fn counts_differ_by_policy_limit_algorithm_and_key_and_by_nothing_else() {
    let table = by_header("ClientAddress");
    let a = identity(&table, &request("GET", "/", &[("x-tenant", "a")]));
    assert_eq!(a, identity(&table, &request("POST", "/other", &[("x-tenant", "a")]).from("198.51.100.1")));
    assert_ne!(a, identity(&table, &request("GET", "/", &[("x-tenant", "b")])));
    let other = |name: &str, limit: Value| {
        let table = RouteTable::new(vec![policy(name, json!([limit]))]);
        identity(&table, &request("GET", "/", &[("x-tenant", "a")]))
    };
    let key = json!({"keys": [{"header": {"name": "x-tenant"}}]});
    assert_eq!(a, other("api", limit("t", key.clone())));
    assert_ne!(a, other("api2", limit("t", key.clone())));
    assert_ne!(a, other("api", limit("t2", key.clone())));
    let mut bucket = limit("t", key);
    bucket["algorithm"] = json!("TokenBucket");
    assert_ne!(a, other("api", bucket));
}

#[test]
fn an_address_key_is_the_network_and_never_the_port() {
    let key = json!({"keys": [{"clientAddress": {"ipv4PrefixLength": 24}}]});
    let table = RouteTable::new(vec![policy("api", json!([limit("ip", key)]))]);
    let of = |peer: &str| identity(&table, &request("GET", "/", &[]).from(peer));
    assert_eq!(of("203.0.113.7"), of("203.0.113.200"));
    assert_eq!(of("203.0.113.7"), of("::ffff:203.0.113.7"));
    assert_ne!(of("203.0.113.7"), of("203.0.114.7"));
    assert_eq!(of("2001:db8::1"), of("2001:db8::2"));
    assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
}

/// A policy that finds the client so and counts by `key`.
fn behind_proxies(client_address: Value, key: Value) -> RouteTable {
    let limits = json!([limit("t", json!({"keys": [key]}))]);
    let spec = json!({"clientAddress": client_address, "limits": limits});
    let entry = PolicyEntry { namespace: "shop".into(), name: "api".into(), uid: String::new(), generation: 1, spec };
    RouteTable::new(vec![Arc::new(compile(&entry).unwrap())])
}

#[test]
fn the_clients_address_is_the_one_that_trusted_proxies_report_and_counts_as_any_other() {
    let direct = RouteTable::new(vec![policy("api", json!([limit("t", json!({"keys": [{"clientAddress": {}}]}))]))]);
    let of = |peer: &str| identity(&direct, &request("GET", "/", &[]).from(peer));
    let hops = behind_proxies(json!({"trustedHops": 1}), json!({"clientAddress": {}}));
    let networks =
        behind_proxies(json!({"from": "Forwarded", "trustedCIDRs": ["10.0.0.0/8"]}), json!({"clientAddress": {}}));
    let reported = [("x-forwarded-for", "192.0.2.66, 198.51.100.1"), ("forwarded", "for=192.0.2.66, for=198.51.100.2")];
    let through = request("GET", "/", &reported).from("10.1.2.3");
    assert_eq!(identity(&hops, &through), of("198.51.100.1"));
    assert_eq!(identity(&networks, &through), of("198.51.100.2"));
    assert_eq!(identity(&direct, &through), of("10.1.2.3"));
    let around = request("GET", "/", &reported).from("203.0.113.9");
    assert_eq!(identity(&networks, &around), of("203.0.113.9"));
    let bare = request("GET", "/", &[]).from("10.1.2.3");
    assert_eq!(identity(&hops, &bare), of("10.1.2.3"));
}

#[test]
fn for_a_missing_key_stands_the_address_that_is_reported() {
    let table = behind_proxies(json!({"trustedHops": 1}), json!({"cookie": {"name": "s"}}));
    let of = |reported: &str, peer: &str| {
        identity(&table, &request("GET", "/", &[("x-forwarded-for", reported)]).from(peer))
    };
    assert_eq!(of("198.51.100.1", "10.1.2.3"), of("192.0.2.66, 198.51.100.1", "10.9.9.9"));
    assert_ne!(of("198.51.100.1", "10.1.2.3"), of("198.51.100.2", "10.1.2.3"));
}

#[test]
fn a_missing_key_is_never_the_key_of_someone_who_sent_one() {
    let none = request("GET", "/", &[]);
    let empty = request("GET", "/", &[("x-tenant", "")]);
    for mode in ["ClientAddress", "Shared"] {
        let table = by_header(mode);
        let missing = identity(&table, &none);
        assert_eq!(missing, identity(&table, &empty), "{mode}");
        for value in ["203.0.113.7", "203.0.113.7/32", "null", "-", " \u{20}203.0.113.7"] {
            assert_ne!(missing, identity(&table, &request("GET", "/", &[("x-tenant", value)])), "{mode} {value}");
        }
        let notes = table.lookup(&none.view()).notes.iter().map(|n| n.kind).collect::<Vec<_>>();
        assert_eq!(notes, [NoteKind::MissingKey]);
    }
    let elsewhere = request("GET", "/", &[]).from("198.51.100.1");
    let (address, shared) = (by_header("ClientAddress"), by_header("Shared"));
    assert_ne!(identity(&address, &none), identity(&address, &elsewhere));
    assert_eq!(identity(&shared, &none), identity(&shared, &elsewhere));
    assert_ne!(identity(&shared, &none), identity(&address, &none));
}

#[test]
fn skip_does_not_count_and_deny_refuses_with_400() {
    let none = request("GET", "/", &[]);
    let skip = by_header("Skip");
    let lookup = skip.lookup(&none.view());
    assert!(lookup.checks.is_empty() && lookup.rejected.is_none());
    assert_eq!(lookup.notes[0].kind, NoteKind::Skipped);

    let deny = by_header("Deny");
    let reason = deny.lookup(&none.view()).rejected.unwrap().reason;
    assert_eq!(reason.status(), 400);
    assert_eq!(reason.to_string(), "header x-tenant is missing; send it with a value");
    assert!(deny.lookup(&request("GET", "/", &[("x-tenant", "a")]).view()).rejected.is_none());
}

#[test]
fn a_key_with_two_values_or_spellings_is_refused_with_400_and_a_long_one_with_431() {
    let long = "a".repeat(8 * 1024 + 1);
    for mode in ["ClientAddress", "Shared", "Deny", "Skip"] {
        let table = by_header(mode);
        for (headers, status) in [
            (vec![("x-tenant", "a"), ("x-tenant", "b")], 400),
            (vec![("x-tenant", "a"), ("x_tenant", "a")], 400),
            (vec![("x-tenant", long.as_str())], 431),
        ] {
            let request = request("GET", "/", &headers);
            let rejection = table.lookup(&request.view()).rejected.unwrap();
            assert_eq!(rejection.reason.status(), status, "{mode}");
            assert!(rejection.reason.to_string().contains("x-tenant"));
            assert_eq!((rejection.policy.id.name.as_str(), rejection.limit.name.as_str()), ("api", "t"));
        }
    }
}

#[test]
fn a_limit_that_does_not_match_refuses_nothing() {
    let key = json!({"keys": [{"header": {"name": "x-tenant"}}], "onMissingKey": "Deny", "match": {"paths": [{"prefix": "/api"}]}});
    let table = RouteTable::new(vec![policy("api", json!([limit("t", key)]))]);
    assert!(table.lookup(&request("GET", "/", &[]).view()).rejected.is_none());
    assert!(table.lookup(&request("GET", "/%61pi", &[]).view()).rejected.is_some());
}

#[test]
fn several_keys_count_by_their_combination() {
    let keys = json!({"keys": [{"header": {"name": "x-a"}}, {"header": {"name": "x-b"}}]});
    let table = RouteTable::new(vec![policy("api", json!([limit("ab", keys)]))]);
    let of = |a: &str, b: &str| identity(&table, &request("GET", "/", &[("x-a", a), ("x-b", b)]));
    let all = [of("1", "23"), of("12", "3"), of("123", "x"), of("1", "2")];
    for (i, a) in all.iter().enumerate() {
        assert!(all.iter().skip(i + 1).all(|b| a != b));
    }
}

#[test]
fn a_shadow_is_among_the_shadows_and_keeps_nobody_back() {
    let keyed = |name: &str, on_missing: &str| {
        let keys = json!([{"header": {"name": "x-user"}}]);
        limit(name, json!({"enforcement": "Shadow", "keys": keys, "onMissingKey": on_missing}))
    };
    let limits = json!([keyed("denying", "Deny"), keyed("sharing", "Shared"), limit("real", json!({}))]);
    let table = RouteTable::new(vec![policy("api", limits)]);
    let names = |checks: &[LimitCheck<'_>]| -> Vec<String> { checks.iter().map(|c| c.limit.name.clone()).collect() };

    let bare = request("GET", "/", &[]);
    let lookup = table.lookup(&bare.view());
    assert!(lookup.rejected.is_none());
    assert_eq!((names(&lookup.checks), names(&lookup.shadows)), (vec!["real".to_owned()], vec!["sharing".to_owned()]));
    let [rejection] = &lookup.shadow_rejections[..] else { panic!("{lookup:?}") };
    assert!(rejection.limit.name == "denying" && matches!(rejection.reason, RejectionReason::MissingKey(_)));

    let keyed = request("GET", "/", &[("x-user", "ann")]);
    let lookup = table.lookup(&keyed.view());
    assert_eq!(names(&lookup.shadows), ["denying", "sharing"]);
    assert!(lookup.shadow_rejections.is_empty());
}

fn by(keys: Value, on_missing_key: &str) -> RouteTable {
    let key = json!({"keys": keys, "onMissingKey": on_missing_key});
    RouteTable::new(vec![policy("api", json!([limit("t", key)]))])
}

/// A key of each kind, a request that has it, and one that has another of it.
fn kinds() -> [(Value, Request, Request); 7] {
    let host = |host: &str| request("GET", "/", &[("host", host)]);
    let cookie = |cookie: &str| request("GET", "/", &[("cookie", cookie)]);
    let header = |value: &str| request("GET", "/", &[("x-a", value)]);
    [
        (json!({"header": {"name": "x-a"}}), header("a"), header("b")),
        (json!({"cookie": {"name": "x-a"}}), cookie("x-a=a"), cookie("x-a=b")),
        (json!({"query": {"name": "x-a"}}), request("GET", "/?x-a=a", &[]), request("GET", "/?x-a=b", &[])),
        (json!({"host": {}}), host("a"), host("b")),
        (json!({"method": {}}), request("A", "/", &[]), request("B", "/", &[])),
        (json!({"path": {}}), request("GET", "/a", &[]), request("GET", "/b", &[])),
        (json!({"clientAddress": {}}), request("GET", "/", &[]), request("GET", "/", &[]).from("192.0.2.1")),
    ]
}

#[test]
fn each_kind_of_key_tells_requests_apart_by_its_own_value_and_none_is_taken_for_another() {
    let mut all = Vec::new();
    for (at, (key, a, b)) in kinds().into_iter().enumerate() {
        let table = by(json!([key]), "Shared");
        let (of_a, of_b) = (identity(&table, &a), identity(&table, &b));
        assert_ne!(of_a, of_b, "{key}");
        for (_, (_, a, b)) in kinds().into_iter().enumerate().filter(|(other, _)| *other != at) {
            assert_eq!(identity(&table, &a), identity(&table, &b), "{key} reads nothing else");
        }
        all.extend([of_a, of_b]);
    }
    let distinct: std::collections::HashSet<&Identity> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
}

#[test]
fn on_missing_key_goes_for_each_kind_that_can_be_missing() {
    let none = request("GET", "/", &[]);
    for (key, sent, _) in kinds().into_iter().take(4) {
        let mut missing = Vec::new();
        for mode in ["ClientAddress", "Shared"] {
            let table = by(json!([key]), mode);
            missing.push(identity(&table, &none));
            let notes: Vec<_> = table.lookup(&none.view()).notes.iter().map(|note| note.kind).collect();
            assert_eq!(notes, [NoteKind::MissingKey], "{key}");
            assert!(table.lookup(&sent.view()).notes.is_empty());
            assert_ne!(identity(&table, &sent), identity(&table, &none));
        }
        assert_ne!(missing[0], missing[1]);
        let (deny, skip) = (by(json!([key]), "Deny"), by(json!([key]), "Skip"));
        let denied = deny.lookup(&none.view()).rejected.unwrap().reason;
        assert!(
            denied.status() == 400 && denied.to_string().ends_with(" is missing; send it with a value"),
            "{denied}"
        );
        assert!(deny.lookup(&sent.view()).rejected.is_none());
        let skipped = skip.lookup(&none.view());
        assert!(skipped.checks.is_empty() && skipped.notes[0].kind == NoteKind::Skipped);
        assert_eq!(skip.lookup(&sent.view()).checks.len(), 1);
    }
    for (key, sent, _) in kinds().into_iter().skip(4) {
        for mode in ["Deny", "Skip"] {
            assert_eq!(by(json!([key]), mode).lookup(&sent.view()).checks.len(), 1, "{key} is always there");
        }
    }
}

#[test]
fn what_is_wrong_with_a_key_names_its_kind_and_what_would_be_right() {
    let long = "v".repeat(8 * 1024 + 1);
    let (cookie, query) = (format!("s={long}"), format!("/?q={long}"));
    for (key, request, status, said) in [
        ("cookie", request("GET", "/", &[]), 400, "cookie s is missing; send it with a value"),
        (
            "cookie",
            request("GET", "/", &[("cookie", "s=1; s=2")]),
            400,
            "cookie s has more than one value; send it once",
        ),
        (
            "cookie",
            request("GET", "/", &[("cookie", &cookie)]),
            431,
            "cookie s is longer than 8192 bytes; send a shorter value",
        ),
        ("query", request("GET", "/?q=", &[]), 400, "query parameter q is missing; send it with a value"),
        ("query", request("GET", "/?q=1&q=2", &[]), 400, "query parameter q has more than one value; send it once"),
        (
            "query",
            request("GET", &query, &[]),
            431,
            "query parameter q is longer than 8192 bytes; send a shorter value",
        ),
        ("host", request("GET", "/", &[]), 400, "host is missing; send it with a value"),
    ] {
        let key = match key {
            "host" => json!({"host": {}}),
            "query" => json!({"query": {"name": "q"}}),
            _ => json!({"cookie": {"name": "s"}}),
        };
        let table = by(json!([key]), "Deny");
        let reason = table.lookup(&request.view()).rejected.unwrap().reason;
        assert_eq!((reason.status().as_u16(), reason.to_string().as_str()), (status, said));
    }
}

#[test]
fn ways_of_writing_a_key_are_no_way_around() {
    let same = |key: Value, requests: &[Request]| {
        let table = by(json!([key]), "Deny");
        for request in requests {
            assert_eq!(
                identity(&table, request),
                identity(&table, &requests[0]),
                "{} {:?}",
                request.target,
                request.headers
            );
        }
    };
    let get = |target: &str| request("GET", target, &[]);
    same(json!({"path": {}}), &[get("/a/b"), get("/%61/b?q"), get("/x/..//a/./b"), get("http://h/a/b")]);
    same(json!({"path": {}}), &[get("*"), request("OPTIONS", "*", &[])]);
    same(json!({"query": {"name": "q"}}), &[get("/?q=a+b"), get("/?%71=a%20b"), get("/x?y&q=a+b&q=a%20b")]);
    let cookie = |cookie: &str| request("GET", "/", &[("cookie", cookie)]);
    same(json!({"cookie": {"name": "s"}}), &[cookie("s=a"), cookie("x=1; s=\"a\""), cookie("s=%61")]);
    let host = |host: &str| request("GET", "/", &[("host", host)]);
    same(
        json!({"host": {}}),
        &[host("shop.example"), host("SHOP.example.:80"), request("GET", "http://shop.example/", &[("host", "x")])],
    );
    let overridden = request("POST", "/", &[("x-http-method-override", "DELETE")]);
    same(json!({"method": {}}), &[request("POST", "/", &[]), request("post", "/", &[]), overridden]);
}

fn costing(cost: Value) -> RouteTable {
    RouteTable::new(vec![policy("api", json!([limit("t", json!({"cost": cost}))]))])
}

#[test]
fn a_request_costs_what_its_header_says_within_bounds() {
    let table = costing(json!({"header": {"name": "X-Cost"}, "default": 2, "max": 4}));
    let cost = |headers: &[(&'static str, &str)]| table.lookup(&request("GET", "/", headers).view()).checks[0].cost;
    for (value, costs) in [("1", 1), ("4", 4), ("5", 4), ("0", 1), ("-3", 1), ("", 2), ("x", 2), ("2.5", 2)] {
        assert_eq!(cost(&[("x-cost", value)]), costs, "{value:?}");
    }
    assert_eq!(cost(&[]), 2);
    let fixed = costing(json!({"value": 0}));
    assert_eq!(fixed.lookup(&request("GET", "/", &[("x-cost", "3")]).view()).checks[0].cost, 0);
}

#[test]
fn a_cost_with_two_values_or_spellings_is_refused_with_400_and_a_long_one_with_431() {
    let long = "1".repeat(8 * 1024 + 1);
    let cost = json!({"header": {"name": "x-cost"}});
    let table = costing(cost.clone());
    let shadow = limit("t", json!({"cost": cost, "enforcement": "Shadow"}));
    let shadow = RouteTable::new(vec![policy("api", json!([shadow]))]);
    for (headers, status) in [
        (vec![("x-cost", "1"), ("x-cost", "2")], 400),
        (vec![("x-cost", "1"), ("x_cost", "1")], 400),
        (vec![("x_cost", "1")], 400),
        (vec![("x-cost", long.as_str())], 431),
    ] {
        let request = request("GET", "/", &headers);
        let reason = table.lookup(&request.view()).rejected.unwrap().reason;
        assert_eq!(reason.status(), status);
        assert!(reason.to_string().starts_with("header x-cost "), "{reason}");
        let lookup = shadow.lookup(&request.view());
        assert!(lookup.rejected.is_none() && lookup.shadows.is_empty() && lookup.shadow_rejections.len() == 1);
    }
}

#[test]
fn a_limit_that_skips_a_request_asks_for_no_cost() {
    let more = json!({"keys": [{"header": {"name": "x-tenant"}}], "onMissingKey": "Skip", "cost": {"header": {"name": "x-cost"}}});
    let table = RouteTable::new(vec![policy("api", json!([limit("t", more)]))]);
    let lookup = table.lookup(&request("GET", "/", &[("x-cost", "1"), ("x-cost", "2")]).view());
    assert!(lookup.rejected.is_none() && lookup.checks.is_empty());
}

#[test]
fn the_count_does_not_depend_on_the_cost_nor_on_what_waits() {
    let of = |more: Value| {
        let table = RouteTable::new(vec![policy("api", json!([limit("t", more)]))]);
        identity(&table, &request("GET", "/", &[("x-cost", "3")]))
    };
    let plain = of(json!({}));
    assert_eq!(plain, of(json!({"cost": {"value": 3}})));
    assert_eq!(plain, of(json!({"cost": {"header": {"name": "x-cost"}}})));
    assert_eq!(plain, of(json!({"slowdown": {"fromPercent": 50, "maxDelay": "1s"}})));
    let bucket = of(json!({"algorithm": "LeakyBucket"}));
    assert_eq!(bucket, of(json!({"algorithm": "LeakyBucket", "queue": {"maxWait": "1s"}})));
}

#[test]
fn a_header_is_read_that_a_key_a_cost_or_the_clients_address_is_in() {
    let more = json!({"keys": [{"clientAddress": {}}, {"header": {"name": "x-tenant"}}], "cost": {"header": {"name": "x-cost"}}});
    let table = RouteTable::new(vec![policy("api", json!([limit("t", more)]))]);
    for name in ["x-tenant", "x_tenant", "x-cost", "x_cost"] {
        assert!(table.reads(&HeaderName::from_static(name)), "{name}");
    }
    for name in ["x-other", "x-forwarded-for", "forwarded", "cookie"] {
        assert!(!table.reads(&HeaderName::from_static(name)), "{name}");
    }
    for (from, name) in [("XForwardedFor", "x-forwarded-for"), ("Forwarded", "forwarded")] {
        let table = behind_proxies(json!({"from": from, "trustedHops": 1}), json!({"cookie": {"name": "s"}}));
        let read = ["x-forwarded-for", "forwarded", "cookie"].map(|name| table.reads(&HeaderName::from_static(name)));
        assert_eq!(read, [name == "x-forwarded-for", name == "forwarded", true]);
    }
}

#[test]
fn the_first_tier_that_surely_matches_gives_the_rate_and_a_count_of_its_own() {
    let tier = |name: &str, plan: &str, requests: u64| {
        let matches = json!({"headers": [{"name": "x-plan", "regex": plan}]});
        json!({"name": name, "match": matches, "rate": {"requests": requests, "period": "1m"}})
    };
    let more = json!({"tiers": [tier("pro", "^pro$", 50), tier("any", ".", 20), tier("late", "^pro$", 70)]});
    let table = RouteTable::new(vec![policy("api", json!([limit("t", more)]))]);
    let of = |headers: &[(&'static str, &str)]| {
        let request = request("GET", "/", headers);
        let lookup = table.lookup(&request.view());
        (lookup.checks[0].applied.capacity(), lookup.checks[0].identity.clone())
    };
    let (none, pro, free) = (of(&[]), of(&[("x-plan", "pro")]), of(&[("x-plan", "free")]));
    assert_eq!((none.0, pro.0, free.0), (5, 50, 20));
    assert!(none.1 != pro.1 && pro.1 != free.1 && none.1 != free.1);
    // what an application could read as another plan is in no tier
    assert_eq!(of(&[("x-plan", "pro"), ("x-plan", "free")]), none);
    assert_eq!(of(&[("x_plan", "pro")]), none);
    // the name is of a tier, not of a limit or key that spells it
    let named =
        RouteTable::new(vec![policy("api", json!([limit("t", json!({"keys": [{"header": {"name": "x-plan"}}]}))]))]);
    assert_ne!(identity(&named, &request("GET", "/", &[("x-plan", "pro")])), pro.1);
}

#[test]
fn a_cost_from_a_header_is_never_more_than_its_tier_holds() {
    let matches = json!({"headers": [{"name": "x-plan", "exact": "free"}]});
    let tier = json!({"name": "free", "match": matches, "rate": {"requests": 2, "period": "1m"}});
    let more = json!({"tiers": [tier], "cost": {"header": {"name": "x-cost"}}});
    let table = RouteTable::new(vec![policy("api", json!([limit("t", more)]))]);
    let cost = |headers: &[(&'static str, &str)]| table.lookup(&request("GET", "/", headers).view()).checks[0].cost;
    assert_eq!(cost(&[("x-cost", "9")]), 5);
    assert_eq!(cost(&[("x-cost", "9"), ("x-plan", "free")]), 2);
}

#[test]
fn what_a_policy_exempts_its_limits_do_not_see_and_those_of_others_do() {
    let exempt = json!([{"match": {"paths": [{"exact": "/healthz"}]}}]);
    let spec = json!({"exempt": exempt, "limits": [limit("a", json!({})), limit("b", json!({"keys": [{"header": {"name": "x-tenant"}}], "onMissingKey": "Deny"}))]});
    let entry = PolicyEntry { namespace: "shop".into(), name: "one".into(), uid: String::new(), generation: 1, spec };
    let table =
        RouteTable::new(vec![Arc::new(compile(&entry).unwrap()), policy("two", json!([limit("c", json!({}))]))]);
    let health = request("GET", "/healthz", &[]);
    assert_eq!(met(&table, &health), ["two/c"]);
    let lookup = table.lookup(&health.view());
    assert!(lookup.rejected.is_none());
    assert_eq!(
        lookup.notes.iter().map(|note| (note.limit.name.as_str(), note.kind)).collect::<Vec<_>>(),
        [("a", NoteKind::Exempt), ("b", NoteKind::Exempt)]
    );
    assert!(table.lookup(&request("GET", "/other", &[]).view()).rejected.is_some());
}

#[test]
fn headers_that_a_match_a_tier_or_an_exemption_names_are_read() {
    let by = |name: &str| json!({"headers": [{"name": name, "present": true}]});
    let tier = json!({"name": "t", "match": by("x-tier"), "rate": {"requests": 1, "period": "1s"}});
    let limits = json!([limit("t", json!({"match": by("x-match"), "tiers": [tier]}))]);
    let spec = json!({"exempt": [{"match": by("x-exempt")}, {"corsPreflight": true}], "limits": limits});
    let entry = PolicyEntry { namespace: "shop".into(), name: "api".into(), uid: String::new(), generation: 1, spec };
    let table = RouteTable::new(vec![Arc::new(compile(&entry).unwrap())]);
    for name in [
        "x-match",
        "x_match",
        "x-tier",
        "x-exempt",
        "origin",
        "access-control-request-method",
        "x-http-method-override",
    ] {
        assert!(table.reads(&HeaderName::from_static(name)), "{name}");
    }
    assert!(!table.reads(&HeaderName::from_static("x-other")));
}

#[test]
fn a_request_costs_what_its_query_says_within_bounds() {
    let table = costing(json!({"query": {"name": "limit"}, "default": 2, "max": 4}));
    let cost = |target: &str| table.lookup(&request("GET", target, &[]).view()).checks[0].cost;
    for (target, costs) in
        [("/?limit=3", 3), ("/?limit=%33", 3), ("/?limit=9", 4), ("/?limit=0", 1), ("/?limit=all", 2), ("/", 2)]
    {
        assert_eq!(cost(target), costs, "{target}");
    }
    let twice = request("GET", "/?limit=1&limit=4", &[]);
    let reason = table.lookup(&twice.view()).rejected.unwrap().reason;
    assert_eq!(
        (reason.status().as_u16(), reason.to_string().as_str()),
        (400, "query parameter limit has more than one value; send it once")
    );
}

proptest! {
    /// Whatever is sent, a lookup ends, and it ends the same for the same request.
    #[test]
    fn no_request_makes_a_lookup_panic(
        target in "(/[ -~\u{e9}]{0,20}|[*]|http://[a-z.:@]{1,9}/[ -~]{0,9})",
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..30), 5),
    ) {
        let (Ok(target), names) = (target.parse::<Uri>(), ["x-a", "cookie", "cookie", "host", "x-forwarded-for"]) else {
            return Ok(());
        };
        let mut headers = HeaderMap::new();
        for (name, value) in names.into_iter().zip(&values) {
            let mut value = value.clone();
            value.iter_mut().filter(|b| b.is_ascii_control()).for_each(|b| *b = b';');
            headers.append(name, HeaderValue::from_bytes(&[&b"x-a="[..], &value].concat()).unwrap());
        }
        let request = Request { method: Method::GET, target, headers, peer: "203.0.113.7".parse().unwrap() };
        for (key, ..) in kinds() {
            let table = behind_proxies(json!({"trustedHops": 1}), key);
            let told = || format!("{:?}", table.lookup(&request.view()));
            prop_assert_eq!(told(), told());
        }
    }
}
