//! The index finds what looking at each limit finds.

use http::{HeaderMap, HeaderValue, Method, Uri, header};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::client_address::{Client, ClientAddress};
use crate::route_table::RequestView;
use crate::{PolicyEntry, compile};

fn path() -> impl Strategy<Value = Value> {
    let text = "(/(a|b|c)){0,3}".prop_map(|path| if path.is_empty() { "/".to_owned() } else { path });
    (prop::sample::select(&["exact", "prefix", "regex"][..]), text).prop_map(|(form, text)| json!({form: text}))
}

fn matches() -> impl Strategy<Value = Value> {
    let host = prop::sample::select(&["a.example", "*.a.example", "b.a.example", "*.example"][..]);
    let (paths, hosts) = (vec(path(), 0..4), vec(host, 0..3));
    (paths, hosts, prop::bool::weighted(0.2)).prop_map(|(paths, hosts, folded)| {
        let mut all = json!({});
        if !paths.is_empty() {
            all["caseInsensitive"] = json!(folded);
            all["paths"] = json!(paths);
        }
        if !hosts.is_empty() {
            all["hosts"] = json!(hosts);
        }
        all
    })
}

proptest! {
    #[test]
    fn every_limit_that_may_match_is_found_once_and_in_order(
        all in vec(matches(), 0..20),
        target in "(/|/(a|b|c|A)|%2[fF]a|/\\.\\.|;x|//){1,5}/?",
        host in prop::sample::select(&["a.example", "x.b.a.example", "B.A.example:80", "c.example", "example", ""][..]),
    ) {
        let limit = |(i, matches): (usize, &Value)| {
            json!({"name": format!("l{i:02}"), "algorithm": "FixedWindow", "rate": {"requests": 5, "period": "1m"}, "match": matches})
        };
        let limits: Vec<Value> = all.iter().enumerate().map(limit).collect();
        if limits.is_empty() {
            return Ok(());
        }
        let spec = json!({"limits": limits});
        let policy = compile(&PolicyEntry { namespace: "n".into(), name: "p".into(), uid: String::new(), generation: 1, spec }).unwrap();
        let mut index = RouteIndex::default();
        policy.limits.iter().enumerate().for_each(|(i, limit)| index.add(i as Place, &limit.matches));

        let Ok(target) = target.parse::<Uri>() else { return Ok(()) };
        let headers: HeaderMap = [(header::HOST, HeaderValue::from_static(host))].into_iter().collect();
        let peer = "203.0.113.7".parse().unwrap();
        let view = RequestView { method: &Method::GET, target: &target, headers: &headers, has_body: false, peer };
        let (seen, client) = (Seen::new(&view), Client::new(&ClientAddress::Peer, &view));
        let holds = |place: &Place| policy.limits[*place as usize].matches.may_hold(&seen, &client);
        let each: Vec<Place> = (0..policy.limits.len() as Place).filter(holds).collect();
        let candidates: Vec<Place> = index.candidates(&seen).collect();
        prop_assert!(candidates.windows(2).all(|pair| pair[0] < pair[1]), "{candidates:?}");
        prop_assert_eq!(candidates.into_iter().filter(holds).collect::<Vec<_>>(), each);
    }
}

#[test]
fn limits_of_other_paths_and_hosts_are_not_looked_at() {
    let limit = |i: usize| {
        let matches = if i.is_multiple_of(2) {
            json!({"paths": [{"prefix": format!("/p{i}/x")}]})
        } else {
            json!({"hosts": [format!("h{i}.example")]})
        };
        json!({"name": format!("l{i:02}"), "algorithm": "FixedWindow", "rate": {"requests": 5, "period": "1m"}, "match": matches})
    };
    let spec = json!({"limits": (0..32).map(limit).collect::<Vec<_>>()});
    let policy =
        compile(&PolicyEntry { namespace: "n".into(), name: "p".into(), uid: String::new(), generation: 1, spec })
            .unwrap();
    let mut index = RouteIndex::default();
    policy.limits.iter().enumerate().for_each(|(i, limit)| index.add(i as Place, &limit.matches));
    let headers: HeaderMap = [(header::HOST, HeaderValue::from_static("h7.example"))].into_iter().collect();
    let target: Uri = "/p4/x/y".parse().unwrap();
    let peer = "203.0.113.7".parse().unwrap();
    let view = RequestView { method: &Method::GET, target: &target, headers: &headers, has_body: false, peer };
    assert_eq!(index.candidates(&Seen::new(&view)).collect::<Vec<_>>(), [4, 7]);
}
