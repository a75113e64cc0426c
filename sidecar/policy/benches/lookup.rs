//! How long it takes to find what a request is counted by, whatever the number of limits and however odd the request; and to
//! compile policies. Prints, gates nothing.
//!
//! `cargo bench -p weir-policy` asks tables of 10 limits in 2 policies and of 1,000 in 200, of which 3 apply. A time is the
//! median of nine rounds with the lowest and the highest.

#![allow(clippy::expect_used, reason = "a benchmark that cannot go on ends")]

mod allocations;

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use http::{HeaderMap, HeaderValue, Method, Uri, header};
use serde_json::{Value, json};
use weir_policy::{Policy, PolicyEntry, RequestView, RouteTable, compile};

const ROUNDS: usize = 9;

fn limit(name: &str, matches: &Value, key: &Value) -> Value {
    json!({"name": name, "algorithm": "TokenBucket", "rate": {"requests": 5, "period": "1m"}, "match": matches, "keys": [key]})
}

/// Five limits: three of the paths of one service, two of hosts and paths of its own.
fn entry(service: usize) -> PolicyEntry {
    let (tenant, address) = (json!({"header": {"name": "x-tenant"}}), json!({"clientAddress": {}}));
    let at = |path: String| json!({"paths": [{"prefix": path}]});
    let limits = json!([
        limit("all", &at(format!("/service-{service}")), &address),
        limit("api", &at(format!("/service-{service}/api")), &tenant),
        limit("orders", &at(format!("/service-{service}/api/v1/orders")), &tenant),
        limit(
            "host",
            &json!({"hosts": [format!("service-{service}.example"), format!("*.s{service}.example")]}),
            &address
        ),
        limit("deep", &at(format!("/d{service}{}", "/a".repeat(120))), &address),
    ]);
    let (namespace, name) = ("shop".to_owned(), format!("policy-{service}"));
    PolicyEntry { namespace, name, uid: String::new(), generation: 1, spec: json!({"limits": limits}) }
}

fn entries(policies: usize) -> Vec<PolicyEntry> {
    (0..policies).map(entry).collect()
}

fn compiled(entries: &[PolicyEntry]) -> Vec<Arc<Policy>> {
    entries.iter().map(|entry| Arc::new(compile(entry).expect("a policy"))).collect()
}

/// Nanoseconds that one call takes.
fn time(calls: usize, mut call: impl FnMut()) -> String {
    let mut rounds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let began = Instant::now();
            (0..calls).for_each(|_| call());
            began.elapsed().as_secs_f64() * 1e9 / calls as f64
        })
        .collect();
    rounds.sort_by(f64::total_cmp);
    format!("{:>11.0} ns ({:.0} to {:.0})", rounds[ROUNDS / 2], rounds[0], rounds[ROUNDS - 1])
}

fn ask(table: &RouteTable, target: &str, calls: usize, applies: Option<usize>) -> String {
    let target: Uri = target.parse().expect("a target");
    let headers: HeaderMap = [
        (header::HOST, HeaderValue::from_static("shop.example")),
        (header::USER_AGENT, HeaderValue::from_static("bench")),
        (header::ACCEPT, HeaderValue::from_static("*/*")),
        (header::HeaderName::from_static("x-tenant"), HeaderValue::from_static("tenant-17")),
    ]
    .into_iter()
    .collect();
    let peer = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));
    let view = RequestView { method: &Method::GET, target: &target, headers: &headers, has_body: false, peer };
    let checks = table.lookup(&view).checks.len();
    assert!(applies.is_none_or(|applies| checks == applies), "{checks} apply");
    let (_, allocations) = allocations::counted(|| black_box(table.lookup(black_box(&view))));
    let time = time(calls, || drop(black_box(table.lookup(black_box(&view)))));
    format!("{time:<40} {allocations:>5} allocations, {checks} apply")
}

/// Targets that are as hard to read as can be, of so many bytes.
fn hostile(bytes: usize) -> Vec<(&'static str, String)> {
    let of = |begin: &str, piece: &str| {
        let mut target = begin.to_owned();
        while target.len() + piece.len() <= bytes {
            target.push_str(piece);
        }
        target
    };
    vec![
        ("every oddity", of("/", "a%2f..%5c.\\;%3bx//%252e%252f%255c./")),
        ("dots at many depths", of("/%2525;\\", "/a/b;/%2e%2e")),
        ("short segments", of("/%2525%255c%252f;\\%5c/./", "/a")),
        ("under a deep path", of("/d1%2525%255c%252f;x\\%5c/./", "/a")),
        ("twice encoded", of("/", "%252f%255c%253b")),
        ("slashes", of("/%25", "/")),
        ("plain", of("/", "a/")),
    ]
}

fn main() {
    println!("match and keys, of a plain request");
    for policies in [2, 200] {
        let table = RouteTable::new(compiled(&entries(policies)));
        let limits = policies * 5;
        println!(
            "  {limits:>5} limits, 3 apply    {}",
            ask(&table, "/service-1/api/v1/orders/7?page=2", 20_000, Some(3))
        );
        println!("  {limits:>5} limits, none does  {}", ask(&table, "/elsewhere", 20_000, Some(0)));
    }
    let (entries, table) = (entries(200), RouteTable::new(compiled(&entries(200))));
    println!("compile of 1,000 limits      {}", time(1, || drop(black_box(compiled(&entries)))));
    println!("table of 1,000 limits        {}", time(1, || drop(black_box(RouteTable::new(compiled(&entries))))));
    for bytes in [200, 2 * 1024, 16 * 1024] {
        println!("targets of {bytes} bytes, 1,000 limits");
        for (what, target) in hostile(bytes) {
            println!("  {what:<22} {}", ask(&table, &target, 20, None));
        }
    }
}
