//! Any request against a policy that looks at all of it: nothing panics, and a request that is exempt is one that the same
//! match counts.
#![no_main]

use std::sync::{Arc, LazyLock};

use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use libfuzzer_sys::fuzz_target;
use weir_policy::{NoteKind, RequestView, RouteTable, compile, read_policies};

/// Of each pair the first exempts what the second counts.
const POLICIES: &str = r#"
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: by-path}
spec:
  clientAddress: {from: Forwarded, trustedCIDRs: [10.0.0.0/8]}
  exempt: [{match: &path {methods: [GET], paths: [{prefix: /a}, {regex: "^/b/?$"}], caseInsensitive: true}}]
  limits:
  - {name: all, keys: [{path: {}}, {host: {}}, {clientAddress: {}}, {method: {}}], algorithm: FixedWindow, rate: {requests: 1, period: 1s}}
---
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: by-value}
spec:
  clientAddress: {trustedHops: 2}
  exempt: [{match: {headers: [{name: x-plan, exact: pro}], query: [{name: q, regex: "^a"}]}}, {corsPreflight: true}]
  limits:
  - name: all
    keys: [{header: {name: x-plan}}, {cookie: {name: sid}}, {query: {name: q}}, {clientAddress: {}}]
    onMissingKey: Shared
    algorithm: FixedWindow
    rate: {requests: 9, period: 1s}
    cost: {query: {name: n}}
    tiers: [{name: pro, match: {hosts: ["*.example"]}, rate: {requests: 2, period: 1s}}]
---
apiVersion: weir.dev/v1alpha1
kind: RateLimitPolicy
metadata: {name: counts}
spec:
  limits:
  - {name: path, match: {methods: [GET], paths: [{prefix: /a}, {regex: "^/b/?$"}], caseInsensitive: true}, algorithm: FixedWindow, rate: {requests: 1, period: 1s}}
  - {name: value, match: {headers: [{name: x-plan, exact: pro}], query: [{name: q, regex: "^a"}]}, algorithm: FixedWindow, rate: {requests: 1, period: 1s}}
"#;

static TABLE: LazyLock<RouteTable> = LazyLock::new(|| {
    let entries = read_policies(&POLICIES.replace("&path ", "")).expect("it is written above");
    RouteTable::new(entries.iter().map(|entry| Arc::new(compile(entry).expect("it is written above"))).collect())
});

fuzz_target!(|parts: (&str, &str, Vec<(&str, &[u8])>, bool)| {
    let (method, target, fields, has_body) = parts;
    let (Ok(method), Ok(target)) = (method.parse::<Method>(), target.parse::<Uri>()) else { return };
    let mut headers = HeaderMap::new();
    for (name, value) in fields.into_iter().take(64) {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    let peer = [10, 0, 0, 1].into();
    let lookup = TABLE.lookup(&RequestView { method: &method, target: &target, headers: &headers, has_body, peer });
    if lookup.rejected.is_some() {
        return;
    }
    let exempt =
        |policy: &str| lookup.notes.iter().any(|note| note.kind == NoteKind::Exempt && note.policy.id.name == policy);
    let counted = |limit: &str| lookup.checks.iter().any(|check| check.limit.name == limit);
    assert!(!exempt("by-path") || counted("path"));
    assert!(!exempt("by-value") || counted("value") || method == Method::OPTIONS);
});
