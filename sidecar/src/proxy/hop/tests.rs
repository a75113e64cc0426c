//! Rules about connection-bound fields.
use super::*;
use crate::proxy::gate::Ruling;
use http::request::Parts;
use std::net::IpAddr;

struct Reads(&'static str);

impl Gate for Reads {
    async fn rule(&self, _: &Parts, _: bool, _: IpAddr) -> Ruling {
        Ruling::Admit(Default::default())
    }

    fn reads(&self, name: &HeaderName) -> bool {
        name == self.0
    }
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
}

fn strip(pairs: &[(&'static str, &'static str)]) -> (Hop, HeaderMap) {
    let mut headers = headers(pairs);
    let hop = strip_request(&mut headers, &Method::GET, Version::HTTP_11, &Reads("x-user"));
    (hop, headers)
}

#[test]
fn what_connection_names_is_removed_but_never_what_limits_or_identities_rest_on() {
    let (_, left) = strip(&[
        ("connection", "x-secret, Keep-Alive, host, cookie, authorization, x-forwarded-for, forwarded"),
        ("connection", "x-user, content-length"),
        ("x-secret", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("te", "gzip"),
        ("host", "a"),
        ("cookie", "b"),
        ("authorization", "c"),
        ("x-forwarded-for", "d"),
        ("forwarded", "e"),
        ("x-user", "f"),
        ("content-length", "3"),
        ("proxy-authorization", "g"),
    ]);
    let mut names: Vec<_> = left.keys().map(HeaderName::as_str).collect();
    names.sort_unstable();
    let kept =
        ["authorization", "content-length", "cookie", "forwarded", "host", "proxy-authorization", "x-forwarded-for"];
    assert_eq!(names, [&kept[..], &["x-user"]].concat());
}

#[test]
fn only_trailers_of_te_goes_on() {
    let (hop, mut left) = strip(&[("te", "gzip, trailers"), ("connection", "te")]);
    put_request(&mut left, &hop, Version::HTTP_11);
    assert_eq!(left, headers(&[("te", "trailers"), ("connection", "te")]));
}

#[test]
fn no_offer_to_switch_to_http_or_tls_goes_on() {
    for harmful in ["h2c", "HTTP/2.0", "TLS/1.2, HTTP/1.1", "H2C"] {
        let mut pairs = headers(&[("connection", "Upgrade, HTTP2-Settings"), ("http2-settings", "AAMAAABk")]);
        pairs.insert(header::UPGRADE, HeaderValue::from_static(harmful));
        let hop = strip_request(&mut pairs, &Method::GET, Version::HTTP_11, &Reads(""));
        assert!(hop.upgrade.is_none() && pairs.is_empty(), "{harmful}");
    }
    let (hop, mut left) = strip(&[("connection", "upgrade"), ("upgrade", "h2c, websocket, foo/2")]);
    put_request(&mut left, &hop, Version::HTTP_11);
    assert_eq!(left, headers(&[("connection", "upgrade"), ("upgrade", "websocket, foo/2")]));
    let offered = hop.upgrade.unwrap();
    assert!(was_offered(&offered, Some(&HeaderValue::from_static("WebSocket"))));
    assert!(!was_offered(&offered, Some(&HeaderValue::from_static("h2c"))));
    assert!(!was_offered(&offered, None));
}

#[test]
fn an_upgrade_that_connection_does_not_name_is_no_offer() {
    let (hop, left) = strip(&[("upgrade", "websocket")]);
    assert!(hop.upgrade.is_none() && left.is_empty());
}

#[test]
fn an_answer_of_http_1_0_closes_unless_it_says_otherwise() {
    assert!(strip_response(&mut HeaderMap::new(), Version::HTTP_10).close);
    assert!(!strip_response(&mut headers(&[("connection", "keep-alive")]), Version::HTTP_10).close);
    assert!(strip_response(&mut headers(&[("connection", "close")]), Version::HTTP_11).close);
}
