//! What a lookup allocates, by an allocator that counts: it is done for each request.
#![allow(unsafe_code, reason = "an allocator is unsafe to write; this one only counts")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test, in its helpers too")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Method, Uri};
use serde_json::{Value, json};
use weir_policy::{PolicyEntry, RequestView, RouteTable, compile};

struct Counting;

thread_local! {
    /// Tests run on threads of their own.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: as the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller's.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn table(keys: &[Value], match_: Value) -> RouteTable {
    let limit = |(at, key): (usize, &Value)| {
        json!({"name": format!("per-key-{at}"), "match": match_, "keys": [key],
            "algorithm": "TokenBucket", "rate": {"requests": 5, "period": "1m"}})
    };
    let limits: Vec<Value> = keys.iter().enumerate().map(limit).collect();
    let spec = json!({"clientAddress": {"trustedHops": 1}, "limits": limits});
    let entry =
        PolicyEntry { namespace: "shop".into(), name: "shop-api".into(), uid: String::new(), generation: 1, spec };
    RouteTable::new(vec![Arc::new(compile(&entry).unwrap())])
}

/// How often a lookup of an ordinary request allocates, and how many limits count it.
fn lookup(table: &RouteTable) -> (usize, usize) {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "shop.example"),
        ("x-tenant", "0b6f1f6e-52a4-4f6e-9a58-1b1a0f3ad1d5"),
        ("x-forwarded-for", "192.0.2.1, 2001:db8::1"),
        ("cookie", "theme=dark; session=1f6e52a44f6e9a58"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let target: Uri = "/api/things/7?api_key=secret".parse().unwrap();
    let view = RequestView {
        method: &Method::GET,
        target: &target,
        headers: &headers,
        has_body: false,
        peer: IpAddr::from([10, 0, 0, 1]),
    };
    let before = COUNT.with(Cell::get);
    let found = table.lookup(&view);
    (COUNT.with(Cell::get) - before, found.checks.len())
}

#[test]
fn a_header_and_an_address_are_matched_and_read_without_one() {
    let (header, address) = (json!({"header": {"name": "x-tenant"}}), json!({"clientAddress": {}}));
    let keys = [header.clone(), address.clone(), address, header];
    let api = table(&keys, json!({"methods": ["GET"], "paths": [{"prefix": "/api"}, {"exact": "/login"}]}));
    assert_eq!(lookup(&api), (0, 4));
}

#[test]
fn a_request_that_no_limit_matches_costs_none() {
    assert_eq!(lookup(&table(&[json!({"path": {}})], json!({"paths": [{"exact": "/login"}]}))), (0, 0));
    assert_eq!(lookup(&table(&[json!({"path": {}})], json!({"methods": ["PUT"]}))), (0, 0));
}

#[test]
fn the_other_keys_are_read_without_one_where_they_are_written_plainly() {
    for key in [
        json!({"cookie": {"name": "session"}}),
        json!({"query": {"name": "api_key"}}),
        json!({"host": {}}),
        json!({"method": {}}),
        json!({"path": {}}),
        // missing, and what stands for it
        json!({"header": {"name": "x-other"}}),
    ] {
        let table = table(std::slice::from_ref(&key), json!({}));
        // what is missing is noted, for metrics
        let notes = usize::from(key.to_string().contains("x-other"));
        assert_eq!(lookup(&table), (notes, 1), "{key}");
    }
}
