//! Every rule of a spec, the words with which it is refused, and that nothing makes `compile` panic.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::client_address::{ReportedBy, Trust};
use crate::key::Key;
use crate::{Cost, CostSource, Fault, OnMissingKey};

mod arbitrary;
mod matching;

/// A valid spec in which everything is said.
fn full() -> Value {
    json!({
        "selector": {
            "matchLabels": {"app": "shop-api"},
            "matchExpressions": [{"key": "example.com/tier", "operator": "In", "values": ["web"]}, {"key": "x", "operator": "Exists"}],
        },
        "onStoreFailure": "Deny",
        "enforcement": "Enforce",
        "clientAddress": {"from": "Forwarded", "trustedCIDRs": ["10.0.0.0/8", "2001:db8::/32"]},
        "exempt": [{"match": {"paths": [{"exact": "/healthz"}]}}, {"corsPreflight": true}],
        "response": {
            "headers": ["RateLimit", "XRateLimit"],
            "existing": "Replace",
            "resetFormat": "UnixSeconds",
            "retryAfterFormat": "HTTPDate",
            "status": 503,
        },
        "limits": [
            {
                "name": "per-tenant",
                "match": {"methods": ["GET", "post"], "paths": [{"prefix": "/api"}, {"exact": "/"}], "hosts": ["*.shop.example"],
                    "headers": [{"name": "X-Plan", "regex": "^(pro|team)$"}], "query": [{"name": "q", "present": true}],
                    "clientAddresses": ["203.0.113.0/24"], "caseInsensitive": true},
                "tiers": [{"name": "pro", "match": {"paths": [{"prefix": "/api/pro"}]}, "rate": {"requests": 600, "period": "1m30s"}}],
                "keys": [{"header": {"name": "X-Tenant"}}, {"clientAddress": {"ipv4PrefixLength": 24}}],
                "onMissingKey": "Deny",
                "algorithm": "TokenBucket",
                "rate": {"requests": 60, "period": "1m30s"},
                "burst": 20,
                "cost": {"header": {"name": "X-Cost"}, "default": 2, "max": 15},
                "slowdown": {"fromPercent": 80, "maxDelay": "1s"},
            },
            {
                "name": "all",
                "algorithm": "FixedWindow",
                "rate": {"requests": 0, "period": "24h"},
                "cost": {"value": 5},
                "enforcement": "Shadow",
            },
            {
                "name": "queued",
                "algorithm": "LeakyBucket",
                "rate": {"requests": 10, "period": "1s"},
                "queue": {"maxWait": "2s500ms", "maxWaiting": 50},
                "cost": {"value": 26},
            },
            {
                "name": "sessions",
                "keys": [{"cookie": {"name": "Session"}}, {"query": {"name": "a b"}}, {"host": {}}, {"path": {}}],
                "algorithm": "FixedWindow",
                "rate": {"requests": 10, "period": "1s"},
            },
            {
                "name": "ways",
                "keys": [{"method": {}}],
                "algorithm": "FixedWindow",
                "rate": {"requests": 10, "period": "1s"},
            },
        ],
    })
}

fn entry(spec: Value) -> PolicyEntry {
    PolicyEntry { namespace: "shop".into(), name: "api".into(), uid: "u".into(), generation: 3, spec }
}

fn faults(spec: Value) -> Vec<String> {
    compile(&entry(spec)).map_err(|f| f.iter().map(Fault::to_string).collect()).err().unwrap_or_default()
}

/// `full()` with the value at a JSON pointer replaced, or taken out.
fn with(pointer: &str, value: Option<Value>) -> Value {
    let mut spec = full();
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    match (spec.pointer_mut(parent).unwrap(), value) {
        (Value::Object(map), Some(value)) => drop(map.insert(field.into(), value)),
        (Value::Object(map), None) => drop(map.remove(field)),
        (Value::Array(list), Some(value)) => list[field.parse::<usize>().unwrap()] = value,
        (other, value) => panic!("{other} {value:?}"),
    }
    spec
}

#[test]
fn everything_that_is_said_is_in_the_policy() {
    let policy = compile(&entry(full())).unwrap();
    assert_eq!(policy.id, PolicyId { namespace: "shop".into(), name: "api".into(), uid: "u".into(), generation: 3 });
    assert_eq!(policy.on_store_failure, crate::OnStoreFailure::Deny);
    assert!(!policy.selector.is_everything());
    let trust = Trust::Networks(["10.0.0.0/8", "2001:db8::/32"].map(|network| network.parse().unwrap()).to_vec());
    assert_eq!(policy.client_address, ClientAddress::Reported { by: ReportedBy::Forwarded, trust });
    let names: Vec<&str> = policy.limits.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(names, ["all", "per-tenant", "queued", "sessions", "ways"], "ordered by name");
    let sessions = [Key::Cookie("Session".into()), Key::Query("a b".into()), Key::Host, Key::Path];
    assert_eq!((&policy.limits[3].keys[..], &policy.limits[4].keys[..]), (&sessions[..], &[Key::Method][..]));
    let limit = &policy.limits[1];
    assert_eq!((limit.limit.quota().requests(), limit.limit.capacity()), (60, 20));
    let name = http::HeaderName::from_static("x-cost");
    assert_eq!(limit.cost, Cost::Sent { source: CostSource::Header(name), default: 2, max: 15 });
    assert_eq!(policy.limits[0].cost, Cost::Fixed(5));
    assert_eq!(limit.slowdown, Some(weir_limiter::Slowdown::new(80, Duration::from_secs(1)).unwrap()));
    let queue = &policy.limits[2];
    assert_eq!((queue.limit.max_wait(), queue.max_waiting), (Some(Duration::from_millis(2500)), Some(50)));
    assert_eq!((queue.slowdown, queue.limit.capacity(), limit.max_waiting), (None, 26, None));
    assert_eq!(limit.limit.quota().period().as_secs(), 90);
    assert_eq!(limit.matches.methods, ["GET", "POST"]);
    assert_eq!((limit.matches.paths.len(), limit.keys.len()), (2, 2));
    assert_eq!(policy.limits[0].limit.algorithm().name(), "FixedWindow");
    assert_eq!(policy.limits[0].limit.quota().period().as_secs(), 86_400);
    assert_eq!((policy.limits[0].enforcement, limit.enforcement), (Enforcement::Shadow, Enforcement::Enforce));
    let told = ResponseOptions {
        x_rate_limit: true,
        rate_limit: true,
        existing: crate::ExistingHeaders::Replace,
        reset_format: crate::ResetFormat::UnixSeconds,
        retry_after_format: crate::RetryAfterFormat::HttpDate,
        status: http::StatusCode::SERVICE_UNAVAILABLE,
    };
    assert_eq!(policy.response, told);
}

#[test]
fn what_is_left_out_has_its_default() {
    let spec = json!({"limits": [{"name": "a", "algorithm": "TokenBucket", "rate": {"requests": 7, "period": "1s"}, "keys": [{"clientAddress": {}}]}]});
    let policy = compile(&entry(spec)).unwrap();
    assert!(policy.selector.is_everything());
    assert_eq!(policy.client_address, ClientAddress::Peer);
    assert_eq!(policy.on_store_failure, crate::OnStoreFailure::Allow);
    assert_eq!(policy.response, ResponseOptions::default());
    assert!(policy.response.x_rate_limit && !policy.response.rate_limit && policy.response.status == 429);
    let limit = &policy.limits[0];
    assert_eq!(limit.enforcement, Enforcement::Enforce);
    assert_eq!(limit.limit.capacity(), 7, "burst is as many as requests");
    assert_eq!(limit.cost, Cost::Fixed(1));
    assert_eq!((limit.slowdown, limit.max_waiting, limit.limit.max_wait()), (None, None, None));
    assert_eq!(limit.on_missing_key, OnMissingKey::ClientAddress);
    assert_eq!(limit.keys, [Key::ClientAddress(crate::address::Prefixes { ipv4: 32, ipv6: 64 })]);
}

#[test]
fn each_fault_names_its_field_and_what_would_be_right() {
    let cases: &[(&str, Option<Value>, &str)] = &[
        ("/limits", None, "spec.limits: is required: the limits, 1 to 32"),
        ("/limits", Some(json!([])), "spec.limits: must have at least 1 entry, has 0"),
        ("/limits", Some(json!({})), "spec.limits: must be a list, is fields; write - before each entry"),
        ("/limit", Some(json!([])), "spec.limit: unknown field; did you mean limits"),
        (
            "/answer",
            Some(json!({})),
            "spec.answer: unknown field; known here: clientAddress, enforcement, exempt, limits, onStoreFailure, response, selector",
        ),
        (
            "/clientAddress",
            Some(json!({})),
            "spec.clientAddress: must have exactly one of trustedHops, trustedCIDRs, such as trustedHops: 1",
        ),
        (
            "/clientAddress/trustedHops",
            Some(json!(1)),
            "spec.clientAddress: must have exactly one of trustedHops, trusted",
        ),
        ("/clientAddress", Some(json!({"trustedHops": 0})), "spec.clientAddress.trustedHops: must be 1 to 32, is 0"),
        ("/clientAddress", Some(json!({"trustedHops": 33})), "spec.clientAddress.trustedHops: must be 1 to 32, is 33"),
        ("/clientAddress", Some(json!("XForwardedFor")), "spec.clientAddress: must be fields, is the string"),
        (
            "/clientAddress/from",
            Some(json!("X-Forwarded-For")),
            "spec.clientAddress.from: unknown word \"X-Forwarded-For\"; write XForwardedFor",
        ),
        (
            "/clientAddress",
            Some(json!({"trustedCidrs": []})),
            "spec.clientAddress.trustedCidrs: unknown field; did you mean trustedCIDRs",
        ),
        (
            "/clientAddress/trustedCIDRs",
            Some(json!([])),
            "clientAddress.trustedCIDRs: must have at least 1 entry, has 0",
        ),
        (
            "/clientAddress/trustedCIDRs",
            Some(json!(vec!["10.0.0.0/8"; 33])),
            "clientAddress.trustedCIDRs: must have at most 32 entries, has 33",
        ),
        (
            "/clientAddress/trustedCIDRs/0",
            Some(json!("10.0.0.1")),
            "spec.clientAddress.trustedCIDRs[0]: must be a network such as 10.0.0.0/8 or 2001:db8::/32; for one address write \
             203.0.113.7/32; is \"10.0.0.1\"",
        ),
        ("/clientAddress/trustedCIDRs/1", Some(json!("10.0.0.0/33")), "trustedCIDRs[1]: must be a network such as"),
        ("/clientAddress/trustedCIDRs/1", Some(json!("::1%lo/128")), "trustedCIDRs[1]: must be a network such as"),
        (
            "/clientAddress/trustedCIDRs/1",
            Some(json!("10.1.2.3/8")),
            "spec.clientAddress.trustedCIDRs[1]: has address bits past its first 8: write 10.0.0.0/8",
        ),
        ("/enforcement", Some(json!("Off")), "spec.enforcement: unknown word \"Off\"; write Enforce or Shadow"),
        (
            "/limits/0/enforcement",
            Some(json!("shadow")),
            "limits[0].enforcement: unknown word \"shadow\"; write Shadow",
        ),
        ("/response/status", Some(json!(200)), "spec.response.status: must be 400 to 599, is 200"),
        ("/response/status", Some(json!(600)), "spec.response.status: must be 400 to 599, is 600"),
        (
            "/response/status",
            Some(json!(407)),
            "spec.response.status: must not be 401 or 407, which ask for credentials",
        ),
        (
            "/response/status",
            Some(json!("429")),
            "must be a whole number, is the string \"429\"; write it without quotes",
        ),
        ("/response/headers", Some(json!("RateLimit")), "spec.response.headers: must be a list"),
        (
            "/response/headers/0",
            Some(json!("X-RateLimit")),
            "spec.response.headers[0]: unknown word \"X-RateLimit\"; write XRateLimit",
        ),
        ("/response/headers/0", Some(json!("XRateLimit")), "spec.response.headers: must name each one once"),
        ("/response/existing", Some(json!("Merge")), "spec.response.existing: unknown word \"Merge\"; write Keep or"),
        ("/response/resetFormat", Some(json!("Unix")), "unknown word \"Unix\"; write DeltaSeconds or UnixSeconds"),
        (
            "/response/retryAfterFormat",
            Some(json!("HttpDate")),
            "spec.response.retryAfterFormat: unknown word \"HttpDate\"; write HTTPDate",
        ),
        ("/response/body", Some(json!({})), "spec.response.body: unknown field; known here: existing, headers"),
        ("/onStoreFailure", Some(json!("deny")), "spec.onStoreFailure: unknown word \"deny\"; write Deny"),
        ("/onStoreFailure", Some(json!("Local")), "spec.onStoreFailure: unknown word \"Local\"; write Allow or Deny"),
        ("/selector/matchLabels/app", Some(json!("a b")), "spec.selector.matchLabels.app: must be a label's value"),
        (
            "/selector/matchLabels/app",
            Some(json!(1)),
            "spec.selector.matchLabels.app: must be a string, is the number 1; put it in quotes",
        ),
        ("/selector/matchLabels/-", Some(json!("a")), "spec.selector.matchLabels.-: must be a label such as app"),
        (
            "/selector/matchExpressions/0/values",
            None,
            "spec.selector.matchExpressions[0].values: must have at least one value for In",
        ),
        (
            "/selector/matchExpressions/1/values",
            Some(json!(["a"])),
            "spec.selector.matchExpressions[1].values: must be left out for Exists",
        ),
        (
            "/selector/matchExpressions/1/operator",
            Some(json!("Is")),
            "unknown word \"Is\"; write In or NotIn or Exists or DoesNotExist",
        ),
        ("/limits/0/name", None, "spec.limits[0].name: is required: the limit's name"),
        ("/limits/0/name", Some(json!("Per_Tenant")), "spec.limits[0].name: must be 1 to 63 lower-case letters"),
        (
            "/limits/1/name",
            Some(json!("per-tenant")),
            "spec.limits[1].name: \"per-tenant\" is already the name of spec.limits[0]; give each limit a name of its own",
        ),
        (
            "/limits/0/algorithm",
            Some(json!("tokenbucket")),
            "spec.limits[0].algorithm: unknown word \"tokenbucket\"; write TokenBucket",
        ),
        ("/limits/0/rate", Some(json!("60/1m")), "spec.limits[0].rate: must be fields, is the string \"60/1m\""),
        (
            "/limits/0/rate/period",
            Some(json!("1x")),
            "spec.limits[0].rate.period: must be a length of time such as 500ms, 1m30s or 24h",
        ),
        ("/limits/0/rate/period", Some(json!("1d")), "for 1d write 24h; is \"1d\""),
        (
            "/limits/0/rate/period",
            Some(json!("721h")),
            "spec.limits[0].rate.period: must be between 1ms and 720h (30 days), is 721h",
        ),
        ("/limits/0/rate/period", Some(json!("999us")), "spec.limits[0].rate.period: must be between 1ms and 720h"),
        (
            "/limits/0/rate/period",
            Some(json!(60)),
            "spec.limits[0].rate.period: must be a string, is the number 60; put it in quotes",
        ),
        ("/limits/0/rate/requests", Some(json!(-1)), "spec.limits[0].rate.requests: must be 0 to 1000000000, is -1"),
        ("/limits/0/rate/requests", Some(json!(1.5)), "spec.limits[0].rate.requests: must be a whole number"),
        (
            "/limits/0/rate/requests",
            Some(json!("60")),
            "must be a whole number, is the string \"60\"; write it without quotes",
        ),
        ("/limits/0/burst", Some(json!(0)), "spec.limits[0].burst: must be 1 to 1000000000, is 0"),
        ("/limits/1/burst", Some(json!(5)), "spec.limits[1].burst: goes with TokenBucket and LeakyBucket only"),
        (
            "/limits/0/keys/0",
            Some(json!({})),
            "spec.limits[0].keys[0]: must have exactly one of header, cookie, query, method, host, path, clientAddress",
        ),
        ("/limits/0/keys/0/path", Some(json!({})), "spec.limits[0].keys[0]: must have exactly one of header, cookie"),
        ("/limits/3/keys/0/query", Some(json!({"name": "q"})), "spec.limits[3].keys[0]: must have exactly one of"),
        ("/limits/0/keys/0/cokie", Some(json!({})), "spec.limits[0].keys[0].cokie: unknown field; did you mean cookie"),
        (
            "/limits/0/keys",
            Some(json!([{"host": {}}, {"path": {}}, {"method": {}}, {"clientAddress": {}}, {"query": {"name": "q"}}])),
            "spec.limits[0].keys: must have at most 4 entries, has 5",
        ),
        (
            "/limits/3/keys/0/cookie",
            Some(json!({})),
            "spec.limits[3].keys[0].cookie.name: is required: the cookie's name",
        ),
        (
            "/limits/3/keys/0/cookie/name",
            Some(json!("a;b")),
            "spec.limits[3].keys[0].cookie.name: must be a cookie name such as session: letters, digits and any of",
        ),
        ("/limits/3/keys/0/cookie/name", Some(json!("")), "cookie.name: must have at least 1 character, has 0"),
        (
            "/limits/3/keys/1/query/name",
            Some(json!("q".repeat(257))),
            "spec.limits[3].keys[1].query.name: must have at most 256 characters, has 257",
        ),
        ("/limits/3/keys/1/query", Some(json!("q")), "keys[1].query: must be fields, is the string \"q\""),
        (
            "/limits/3/keys/2/host",
            Some(json!({"name": "a"})),
            "spec.limits[3].keys[2].host: has nothing more to say: write {}",
        ),
        (
            "/limits/4/keys/0/method",
            Some(Value::Null),
            "spec.limits[4].keys[0].method: must be fields, is empty; write {} for the defaults",
        ),
        ("/limits/0/keys/0/clientAddress", Some(json!({})), "spec.limits[0].keys[0]: must have exactly one of"),
        (
            "/limits/0/keys/1/clientAddress",
            Some(Value::Null),
            "spec.limits[0].keys[1].clientAddress: must be fields, is empty; write {} for the defaults",
        ),
        (
            "/limits/0/keys/1/clientAddress/ipv4PrefixLength",
            Some(json!(33)),
            "ipv4PrefixLength: must be 0 to 32, is 33",
        ),
        (
            "/limits/0/keys/0/header",
            Some(json!({})),
            "spec.limits[0].keys[0].header.name: is required: the header's name",
        ),
        (
            "/limits/0/keys/0/header/name",
            Some(json!("x tenant")),
            "spec.limits[0].keys[0].header.name: must be a header name such as x-tenant",
        ),
        (
            "/limits/0/keys/0/header/name",
            Some(json!(":path")),
            "spec.limits[0].keys[0].header.name: must be a header name such as x-tenant",
        ),
        (
            "/limits/0/keys/0/header/name",
            Some(json!("Connection")),
            "connection belongs to one connection and never reaches the application",
        ),
        ("/limits/0/keys/0/header/name", Some(json!("Host")), "host is not carried by HTTP/2"),
        ("/limits/0/cost", Some(json!(5)), "spec.limits[0].cost: must be fields, is the number 5"),
        (
            "/limits/0/cost",
            Some(json!({})),
            "spec.limits[0].cost: must have exactly one of value, header, query, such as value: 2 or header: {name: x-cost}",
        ),
        ("/limits/0/cost", Some(json!({"default": 2})), "spec.limits[0].cost: must have exactly one of value, header"),
        ("/limits/1/cost/header", Some(json!({"name": "x-cost"})), "spec.limits[1].cost: must have exactly one of"),
        (
            "/limits/1/cost/claim",
            Some(json!({})),
            "cost.claim: unknown field; known here: default, header, max, query, value",
        ),
        ("/limits/1/cost/value", Some(json!(-1)), "spec.limits[1].cost.value: must be 0 to 1000000000, is -1"),
        ("/limits/1/cost/value", Some(json!(1.5)), "spec.limits[1].cost.value: must be a whole number"),
        (
            "/limits/1/cost/value",
            Some(json!("2")),
            "must be a whole number, is the string \"2\"; write it without quotes",
        ),
        (
            "/limits/1/cost/default",
            Some(json!(1)),
            "spec.limits[1].cost.default: goes with header or query only, not with value: leave it out",
        ),
        (
            "/limits/1/cost/max",
            Some(json!(1)),
            "spec.limits[1].cost.max: goes with header or query only, not with value",
        ),
        (
            "/limits/0/cost",
            Some(json!({"value": 21})),
            "spec.limits[0].cost.value: must be at most burst, or what the limit holds without it: what costs more can \
             never pass; is 21 and the limit holds 20",
        ),
        ("/limits/0/cost/default", Some(json!(0)), "spec.limits[0].cost.default: must be 1 to 1000000000, is 0"),
        (
            "/limits/0/cost/default",
            Some(json!(16)),
            "spec.limits[0].cost.default: must be at most max; is 16 and max 15",
        ),
        ("/limits/0/cost/max", Some(json!(0)), "spec.limits[0].cost.max: must be 1 to 1000000000, is 0"),
        ("/limits/0/cost/max", Some(json!(1)), "spec.limits[0].cost.default: must be at most max; is 2 and max 1"),
        ("/limits/0/cost/max", Some(json!(21)), "spec.limits[0].cost.max: must be at most burst, or what"),
        (
            "/limits/0/cost",
            Some(json!({"header": {"name": "x-cost"}, "default": 21})),
            "spec.limits[0].cost.default: must be at most burst, or what the limit holds",
        ),
        ("/limits/0/cost/header", Some(json!("x-cost")), "cost.header: must be fields, is the string \"x-cost\""),
        ("/limits/0/cost/header", Some(json!({})), "spec.limits[0].cost.header.name: is required: the header's name"),
        ("/limits/0/cost/header/name", Some(json!("x cost")), "cost.header.name: must be a header name such as"),
        ("/limits/0/cost/header/name", Some(json!("TE")), "te belongs to one connection and never reaches the"),
        ("/limits/2/cost/value", Some(json!(27)), "can never pass; is 27 and the limit holds 26"),
        ("/limits/2/queue", Some(json!("2s")), "spec.limits[2].queue: must be fields, is the string \"2s\""),
        (
            "/limits/2/queue/maxWait",
            None,
            "spec.limits[2].queue.maxWait: is required: the longest that a request waits",
        ),
        (
            "/limits/2/queue/maxWait",
            Some(json!("999us")),
            "spec.limits[2].queue.maxWait: must be between 1ms and 10m, is 999us",
        ),
        (
            "/limits/2/queue/maxWait",
            Some(json!("10m1us")),
            "spec.limits[2].queue.maxWait: must be between 1ms and 10m, is",
        ),
        (
            "/limits/2/queue/maxWait",
            Some(json!("2.5s")),
            "spec.limits[2].queue.maxWait: must be a length of time such as",
        ),
        ("/limits/2/queue/maxWait", Some(json!(2)), "must be a string, is the number 2; put it in quotes"),
        ("/limits/2/queue/maxWaiting", Some(json!(0)), "spec.limits[2].queue.maxWaiting: must be 1 to 10000, is 0"),
        ("/limits/2/queue/maxWaiting", Some(json!(10_001)), "spec.limits[2].queue.maxWaiting: must be 1 to 10000, is"),
        (
            "/limits/2/queue/max_wait",
            Some(json!("2s")),
            "spec.limits[2].queue.max_wait: unknown field; did you mean maxWait",
        ),
        (
            "/limits/2/algorithm",
            Some(json!("TokenBucket")),
            "spec.limits[2].queue: goes with LeakyBucket only: leave queue out, or write algorithm: LeakyBucket",
        ),
        (
            "/limits/2/slowdown",
            Some(json!({"fromPercent": 0, "maxDelay": "1s"})),
            "spec.limits[2].slowdown: does not go with queue, which holds requests back in its own way: leave one of the two \
             out",
        ),
        (
            "/limits/0/slowdown/fromPercent",
            None,
            "spec.limits[0].slowdown.fromPercent: is required: how much of the limit",
        ),
        (
            "/limits/0/slowdown/fromPercent",
            Some(json!(100)),
            "spec.limits[0].slowdown.fromPercent: must be 0 to 99, is 100",
        ),
        ("/limits/0/slowdown/fromPercent", Some(json!("80%")), "must be a whole number, is the string \"80%\""),
        (
            "/limits/0/slowdown/maxDelay",
            None,
            "spec.limits[0].slowdown.maxDelay: is required: how long the request is held",
        ),
        ("/limits/0/slowdown/maxDelay", Some(json!("11m")), "slowdown.maxDelay: must be between 1ms and 10m, is 11m"),
        ("/limits/0/slowdown/maxDelay", Some(json!("1")), "slowdown.maxDelay: must be a length of time such as 500ms"),
        ("/limits/0/match/methods", Some(json!([])), "spec.limits[0].match.methods: must have at least 1 entry, has 0"),
        (
            "/limits/0/match/methods/0",
            Some(json!("G T")),
            "spec.limits[0].match.methods[0]: must be a method name such as GET",
        ),
        (
            "/limits/0/match/paths/0",
            Some(json!("/api")),
            "spec.limits[0].match.paths[0]: must be fields, is the string \"/api\"",
        ),
        (
            "/limits/0/match/paths/0/exact",
            Some(json!("/api")),
            "spec.limits[0].match.paths[0]: must have exactly one of exact, prefix, regex",
        ),
        (
            "/limits/0/match/paths/0/prefix",
            Some(json!("api")),
            "spec.limits[0].match.paths[0].prefix: must start with /",
        ),
        ("/limits/0/match/paths/0/prefix", Some(json!("/a?b")), "must start with / and hold no ?"),
        ("/limits/0/match/paths/0/prefix", Some(json!("/a%2")), "must have two hexadecimal digits after each %"),
        ("/limits/0/match/paths/0/prefix", Some(json!("/a/../b")), "must hold no empty, . or .. segment"),
    ];
    for (pointer, value, expected) in cases {
        let found = faults(with(pointer, value.clone()));
        assert!(
            found.len() == 1 && found[0].contains(expected),
            "{pointer} = {value:?}\n wanted {expected}\n found {found:#?}"
        );
    }
}

#[test]
fn all_faults_are_said_at_once() {
    let spec = json!({
        "selector": {"matchLabel": {}},
        "clientAddress": {"from": "Via", "trustedCIDRs": ["10.0.0.0", "10.0.0.0/8", "10.0.0.1/8"]},
        "limits": [
            {"name": "A", "algorithm": "Bucket", "rate": {"requests": "1", "period": "1x"}, "burst": 0},
            {"name": "b", "keys": [{"header": {"nam": "x"}}, {"cookie": {"name": ","}}, {"path": {"a": 1}}, {}], "algorithm": "FixedWindow", "rate": {"period": "1d"}, "burst": 2},
            {"name": "C", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}, "cost": {"value": 2, "max": 3, "default": 2}},
            {"name": "d", "algorithm": "FixedWindow", "rate": {"requests": 1, "period": "1s"}, "cost": {"header": {"name": "b c"}, "max": 2, "default": 3}},
            {"name": "e", "algorithm": "TokenBucket", "rate": {"requests": 1, "period": "1s"}, "cost": {"value": 2},
             "queue": {"maxWait": "1h"}, "slowdown": {"maxDelay": "1"}},
            {"name": "f", "algorithm": "LeakyBucket", "rate": {"requests": 1, "period": "720h"}, "burst": 1_000_000,
             "queue": {"maxWait": "1h", "maxWaiting": 0}},
        ],
    });
    let paths: Vec<String> = compile(&entry(spec)).unwrap_err().iter().map(|f| f.path.clone()).collect();
    for path in [
        "spec.selector.matchLabel",
        "spec.clientAddress.from",
        "spec.clientAddress.trustedCIDRs[0]",
        "spec.clientAddress.trustedCIDRs[2]",
        "spec.limits[0].name",
        "spec.limits[0].algorithm",
        "spec.limits[0].rate.requests",
        "spec.limits[0].rate.period",
        "spec.limits[0].burst",
        "spec.limits[1].keys[0].header.nam",
        "spec.limits[1].keys[0].header.name",
        "spec.limits[1].keys[1].cookie.name",
        "spec.limits[1].keys[2].path",
        "spec.limits[1].keys[3]",
        "spec.limits[1].rate.requests",
        "spec.limits[1].rate.period",
        "spec.limits[1].burst",
        "spec.limits[2].cost.value",
        "spec.limits[2].cost.max",
        "spec.limits[2].cost.default",
        "spec.limits[3].cost.header.name",
        "spec.limits[3].cost.max",
        "spec.limits[3].cost.default",
        "spec.limits[4].queue",
        "spec.limits[4].queue.maxWait",
        "spec.limits[4].slowdown",
        "spec.limits[4].slowdown.fromPercent",
        "spec.limits[4].slowdown.maxDelay",
        "spec.limits[5].burst",
        "spec.limits[5].queue.maxWait",
        "spec.limits[5].queue.maxWaiting",
    ] {
        assert_eq!(paths.iter().filter(|p| *p == path).count(), 1, "{path} in {paths:#?}");
    }
}

/// What compile makes of a limit of 7 a second by this algorithm, with these fields more.
fn by(algorithm: &str, more: Value) -> Result<weir_limiter::Limit, Vec<String>> {
    let mut limit = json!({"name": "a", "algorithm": algorithm, "rate": {"requests": 7, "period": "1s"}});
    limit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match compile(&entry(json!({"limits": [limit]}))) {
        Ok(policy) => Ok(policy.limits[0].limit),
        Err(faults) => Err(faults.iter().map(Fault::to_string).collect()),
    }
}

#[test]
fn every_algorithm_is_the_one_of_its_name_and_only_buckets_have_a_burst() {
    for name in ["FixedWindow", "SlidingWindow", "SlidingLog", "TokenBucket", "LeakyBucket"] {
        let limit = by(name, json!({})).unwrap();
        assert_eq!((limit.algorithm().name(), limit.capacity()), (name, 7));
        let with_burst = by(name, json!({"burst": 3}));
        if name.ends_with("Bucket") {
            assert_eq!(with_burst.unwrap().capacity(), 3, "{name}");
        } else {
            let faults = with_burst.unwrap_err();
            assert!(faults.len() == 1 && faults[0].starts_with("spec.limits[0].burst: goes with "), "{faults:?}");
        }
    }
}

#[test]
fn a_queue_holds_what_can_wait_and_one_more_unless_burst_says_otherwise() {
    let queue = |more: Value| by("LeakyBucket", more).unwrap();
    let limit = queue(json!({"queue": {"maxWait": "2s"}}));
    assert_eq!((limit.max_wait(), limit.capacity()), (Some(Duration::from_secs(2)), 15));
    assert_eq!(queue(json!({"queue": {"maxWait": "1999999us"}})).capacity(), 14);
    assert_eq!(queue(json!({"queue": {"maxWait": "1ms"}})).capacity(), 1);
    assert_eq!(queue(json!({"queue": {"maxWait": "2s"}, "burst": 3})).capacity(), 3);
    assert_eq!(queue(json!({})).max_wait(), None);
    let spec = json!({"limits": [{"name": "a", "algorithm": "LeakyBucket", "rate": {"requests": 7, "period": "1s"},
        "queue": {"maxWait": "2s"}}]});
    assert_eq!(compile(&entry(spec)).unwrap().limits[0].max_waiting, Some(1000));
}

#[test]
fn every_algorithm_can_slow_down() {
    for name in ["FixedWindow", "SlidingWindow", "SlidingLog", "TokenBucket", "LeakyBucket"] {
        assert!(by(name, json!({"slowdown": {"fromPercent": 0, "maxDelay": "10m"}})).is_ok(), "{name}");
    }
}

#[test]
fn a_log_of_more_than_100000_is_told_of_the_sliding_window() {
    let rate = |requests: u32| json!({"rate": {"requests": requests, "period": "1h"}});
    assert!(by("SlidingLog", rate(100_000)).is_ok() && by("SlidingWindow", rate(100_001)).is_ok());
    let faults = by("SlidingLog", rate(100_001)).unwrap_err();
    assert!(faults.len() == 1 && faults[0].starts_with("spec.limits[0].rate.requests: SlidingLog "), "{faults:?}");
    assert!(faults[0].contains("SlidingWindow; is 100001"), "{faults:?}");
}

#[test]
fn a_bucket_that_would_take_over_ten_years_to_fill_is_refused() {
    let mut spec = with("/limits/0/burst", Some(json!(1_000_000_000)));
    spec["limits"][0]["rate"] = json!({"requests": 1, "period": "1s"});
    let found = faults(spec);
    assert!(found.len() == 1 && found[0].starts_with("spec.limits[0].burst: "), "{found:?}");
}

#[test]
fn no_header_at_all_is_a_choice_and_a_limit_is_a_shadow_when_its_policy_is() {
    let policy = compile(&entry(with("/response/headers", Some(json!([]))))).unwrap();
    assert!(!policy.response.x_rate_limit && !policy.response.rate_limit);
    let shadow = compile(&entry(with("/enforcement", Some(json!("Shadow"))))).unwrap();
    assert!(shadow.limits.iter().all(|limit| limit.enforcement == Enforcement::Shadow));
}

#[test]
fn skip_warns_that_leaving_the_key_out_is_a_way_around() {
    let policy = compile(&entry(with("/limits/0/onMissingKey", Some(json!("Skip"))))).unwrap();
    let warnings: Vec<String> = policy.warnings.iter().map(Fault::to_string).collect();
    assert_eq!(
        warnings[0],
        "spec.limits[0].onMissingKey: Skip leaves requests without header x-tenant unlimited by per-tenant"
    );
    let policy = compile(&entry(with("/limits/3/onMissingKey", Some(json!("Skip"))))).unwrap();
    let said = "Skip leaves requests without cookie Session or query parameter a b or host unlimited by sessions";
    assert!(policy.warnings.iter().any(|warning| warning.message == said), "{:?}", policy.warnings);
    let policy = compile(&entry(with("/limits/4/onMissingKey", Some(json!("Skip"))))).unwrap();
    assert!(!policy.warnings.iter().any(|warning| warning.message.contains("Skip")), "a method is always there");
}

/// What compile makes of these networks.
fn trusted(networks: &[&str]) -> Policy {
    compile(&entry(with("/clientAddress", Some(json!({"trustedCIDRs": networks}))))).unwrap()
}

#[test]
fn hops_are_as_many_as_are_said_and_mapped_networks_are_ipv4() {
    let policy = compile(&entry(with("/clientAddress", Some(json!({"trustedHops": 32}))))).unwrap();
    let by = ReportedBy::XForwardedFor;
    assert_eq!(policy.client_address, ClientAddress::Reported { by, trust: Trust::Hops(32) });
    assert_eq!(trusted(&["::ffff:10.0.0.0/104"]).client_address, trusted(&["10.0.0.0/8"]).client_address);
    assert_eq!(trusted(&["2001:DB8::/32"]).client_address, trusted(&["2001:db8::/32"]).client_address);
}

#[test]
fn to_trust_everyone_warns() {
    let warnings = |networks: &[&str]| -> Vec<String> {
        trusted(networks).warnings.iter().map(Fault::to_string).filter(|said| said.contains("clientAddress")).collect()
    };
    assert!(warnings(&["10.0.0.0/8", "2001:db8::/32"]).is_empty());
    let everyone = "is everyone, so that each client may write the address that it is counted by";
    assert_eq!(
        warnings(&["0.0.0.0/0", "10.0.0.0/8", "::/0"]),
        [
            format!("spec.clientAddress.trustedCIDRs[0]: 0.0.0.0/0 {everyone}"),
            format!("spec.clientAddress.trustedCIDRs[2]: ::/0 {everyone}"),
        ]
    );
}

#[test]
fn a_cost_that_clients_choose_and_one_of_0_warn() {
    let warnings =
        |spec| -> Vec<String> { compile(&entry(spec)).unwrap().warnings.iter().map(Fault::to_string).collect() };
    assert_eq!(
        warnings(full()),
        [
            "spec.limits[0].cost.header: whoever sends the request chooses what header x-cost says, so that each may cost as \
          little as 1 of per-tenant"
        ]
    );
    let free = with("/limits/0/cost", Some(json!({"value": 0})));
    assert_eq!(
        warnings(free),
        ["spec.limits[0].cost.value: requests that cost 0 take nothing, so per-tenant refuses nobody"]
    );
    let mut blocking = with("/limits/0/cost", Some(json!({"value": 0})));
    blocking["limits"][0]["rate"]["requests"] = json!(0);
    assert!(warnings(blocking).is_empty(), "it refuses all");
    assert!(warnings(with("/limits/0/cost", Some(json!({"value": 20})))).is_empty());
}

#[test]
fn a_cost_that_is_left_half_open_is_1_to_what_the_limit_holds() {
    let cost = |pointer: &str, spec: Value| compile(&entry(with(pointer, Some(spec)))).unwrap().limits.remove(1).cost;
    let source = || CostSource::Header(http::HeaderName::from_static("x-c"));
    let header = |default, max| Cost::Sent { source: source(), default, max };
    let said = json!({"header": {"name": "x-c"}});
    assert_eq!(cost("/limits/0/cost", said.clone()), header(1, 20), "burst");
    let mut limit = full()["limits"][0].clone();
    limit.as_object_mut().unwrap().remove("burst");
    limit["cost"] = said;
    assert_eq!(cost("/limits/0", limit.clone()), header(1, 60), "rate.requests");
    limit["algorithm"] = json!("SlidingWindow");
    limit["cost"]["default"] = json!(60);
    assert_eq!(cost("/limits/0", limit.clone()), header(60, 60));
    limit["rate"]["requests"] = json!(0);
    assert_eq!(cost("/limits/0", limit), header(60, 60), "nothing passes, whatever it costs");
}

#[test]
fn a_thousand_faults_are_counted_and_not_all_kept() {
    let limit = json!({"name": "A", "x": 1, "y": 1, "z": 1});
    let found = compile(&entry(json!({"limits": vec![limit; 32]}))).unwrap_err();
    assert_eq!(found.iter().count(), Faults::SHOWN);
    assert!(found.count() > Faults::SHOWN && found.to_string().ends_with(" more"), "{found}");
}

#[test]
fn a_spec_of_the_typed_kind_compiles_too() {
    let spec: RateLimitPolicySpec = serde_json::from_value(full()).unwrap();
    assert_eq!(compile_spec(&spec).unwrap().limits, compile(&entry(full())).unwrap().limits);
}

proptest! {
    #[test]
    fn no_json_makes_compile_panic(spec in arbitrary::json()) {
        let _ = compile(&entry(spec));
    }

    /// Whatever is written there, the policy is refused with reasons, or what it costs can pass and what waits has a place.
    #[test]
    fn a_limit_that_compiles_can_be_asked_for_what_it_says(limit in prop_oneof![
        arbitrary::limit_with_any(&["burst", "cost/value", "slowdown/fromPercent", "slowdown/maxDelay"]),
        arbitrary::limit_with_any(&["burst", "cost/header/name", "cost/default", "cost/max"]),
        arbitrary::limit_with_any(&["queue/maxWait", "queue/maxWaiting", "cost/value"]),
        arbitrary::limit_with_any(&["queue/maxWait", "burst", "cost/header/name", "cost/max"]),
        arbitrary::limit_with_any(&["cost", "queue", "slowdown", "cost/value", "cost/header"]),
    ]) {
        let Ok(policy) = compile(&entry(json!({"limits": [limit]}))) else { return Ok(()) };
        let limit = &policy.limits[0];
        let dearest = match &limit.cost {
            Cost::Fixed(value) => *value,
            Cost::Sent { default, max, .. } => {
                prop_assert!((1..=*max).contains(default));
                *max
            }
        };
        prop_assert!(limit.limit.quota().requests() == 0 || limit.limit.can_ever_pass(dearest));
        prop_assert_eq!(limit.max_waiting.is_some(), limit.limit.max_wait().is_some());
        prop_assert!(limit.max_waiting.is_none() || limit.slowdown.is_none());
    }

    #[test]
    fn no_text_makes_reading_a_file_panic(text in ".{0,200}") {
        let _ = crate::read_policies(&text);
    }

    /// Types and schema are one: what compiles, the types take; what the types refuse, compile refuses.
    #[test]
    fn what_compiles_is_what_the_types_take(spec in arbitrary::nearly_a_spec(full())) {
        if compile(&entry(spec.clone())).is_ok() {
            let typed = serde_json::from_value::<RateLimitPolicySpec>(spec.clone());
            prop_assert!(typed.is_ok(), "{} {:?}", spec, typed);
            prop_assert!(compile_spec(&typed.unwrap()).is_ok());
        }
    }

    #[test]
    fn a_fault_says_something_on_one_line(spec in arbitrary::nearly_a_spec(full())) {
        if let Err(faults) = compile(&entry(spec)) {
            for fault in faults.iter() {
                prop_assert!(fault.path.starts_with("spec") && !fault.message.is_empty());
                prop_assert!(!fault.to_string().contains('\n') && !fault.message.ends_with('.'), "{}", fault);
            }
        }
    }
}
