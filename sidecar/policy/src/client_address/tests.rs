use http::HeaderValue;
use proptest::prelude::*;

use super::*;

fn hops(by: ReportedBy, hops: usize) -> ClientAddress {
    ClientAddress::Reported { by, trust: Trust::Hops(hops) }
}

fn networks(by: ReportedBy, networks: &[&str]) -> ClientAddress {
    let networks = networks.iter().map(|network| network.parse().unwrap()).collect();
    ClientAddress::Reported { by, trust: Trust::Networks(networks) }
}

fn found(from: &ClientAddress, lines: &[(&'static str, &str)]) -> String {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(*name, HeaderValue::from_str(value).unwrap());
    }
    from.of(&headers, "10.0.0.1".parse().unwrap()).to_string()
}

fn by_xff(trust: &ClientAddress, value: &str) -> String {
    found(trust, &[("x-forwarded-for", value)])
}

fn by_forwarded(trust: &ClientAddress, value: &str) -> String {
    found(trust, &[("forwarded", value)])
}

#[test]
fn the_peer_is_the_client_unless_a_policy_says_otherwise() {
    assert_eq!(by_xff(&ClientAddress::default(), "192.0.2.1"), "10.0.0.1");
    let mapped = ClientAddress::Peer.of(&HeaderMap::new(), "::ffff:192.0.2.1".parse().unwrap());
    assert_eq!(mapped.to_string(), "192.0.2.1");
}

#[test]
fn hops_are_counted_from_the_right_over_all_lines() {
    let (one, two) = (hops(ReportedBy::XForwardedFor, 1), hops(ReportedBy::XForwardedFor, 2));
    assert_eq!(by_xff(&one, "6.6.6.6, 192.0.2.1"), "192.0.2.1");
    assert_eq!(by_xff(&two, "6.6.6.6, 192.0.2.1, 10.1.1.1"), "192.0.2.1");
    let lines = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "192.0.2.1"), ("x-forwarded-for", "10.1.1.1")];
    assert_eq!(found(&two, &lines), "192.0.2.1");
    assert_eq!(by_xff(&two, "192.0.2.1, , 10.1.1.1,"), "192.0.2.1");
}

#[test]
fn with_fewer_entries_than_hops_the_peer_is_the_client() {
    let two = hops(ReportedBy::XForwardedFor, 2);
    for value in ["", " , ", "192.0.2.1"] {
        assert_eq!(by_xff(&two, value), "10.0.0.1", "{value:?}");
    }
    assert_eq!(found(&two, &[]), "10.0.0.1");
}

#[test]
fn networks_are_walked_while_who_reports_is_in_them() {
    let trusted = networks(ReportedBy::XForwardedFor, &["10.0.0.0/8", "2001:db8::/32"]);
    assert_eq!(by_xff(&trusted, "6.6.6.6, 192.0.2.1"), "192.0.2.1");
    assert_eq!(by_xff(&trusted, "6.6.6.6, 192.0.2.1, 10.1.1.1, 2001:db8::9"), "192.0.2.1");
    // all of them proxies: the one farthest off
    assert_eq!(by_xff(&trusted, "10.2.2.2, 10.1.1.1"), "10.2.2.2");
    let elsewhere = networks(ReportedBy::XForwardedFor, &["172.16.0.0/12"]);
    assert_eq!(by_xff(&elsewhere, "192.0.2.1"), "10.0.0.1");
}

#[test]
fn what_cannot_be_read_ends_the_walk_at_the_last_that_could() {
    let trusted = networks(ReportedBy::XForwardedFor, &["10.0.0.0/8"]);
    let three = hops(ReportedBy::XForwardedFor, 3);
    for bad in ["unknown", "_hidden", "192.0.2", "192.0.2.01", "192.0.2.1 192.0.2.2", "[192.0.2.1]", "::g", "\u{e9}"] {
        assert_eq!(by_xff(&trusted, &format!("6.6.6.6, {bad}, 10.1.1.1")), "10.1.1.1", "{bad}");
        assert_eq!(by_xff(&three, &format!("6.6.6.6, {bad}, 10.1.1.1")), "10.1.1.1", "{bad}");
        assert_eq!(by_xff(&three, &format!("6.6.6.6, 192.0.2.1, {bad}")), "10.0.0.1", "{bad}");
    }
}

#[test]
fn ports_brackets_and_zones_are_no_part_of_an_address() {
    let one = hops(ReportedBy::XForwardedFor, 1);
    let written = [
        ("192.0.2.1:4711", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("[2001:db8::1]:4711", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:80", "fe80::1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("[::ffff:192.0.2.1]:80", "192.0.2.1"),
    ];
    for (value, address) in written {
        assert_eq!(by_xff(&one, value), address, "{value}");
        assert_eq!(by_forwarded(&hops(ReportedBy::Forwarded, 1), &format!("for=\"{value}\"")), address, "{value}");
    }
}

#[test]
fn forwarded_is_read_as_its_own_syntax() {
    let one = hops(ReportedBy::Forwarded, 1);
    let written = [
        "for=192.0.2.1",
        "For=\"192.0.2.1:4711\"; proto=https;by=10.0.0.1",
        "proto=http ; FOR = 192.0.2.1",
        "for=6.6.6.6, for=192.0.2.1",
        "host=\"a;for=6.6.6.6\";for=192.0.2.1",
        "for=192.0.2.1;host=\"a, for=6.6.6.6\"",
        "for=192.0.2.1;host=\"a\\\", for=6.6.6.6\"",
        "for=192.0.2.1;host=\"a\\\\\"",
    ];
    for value in written {
        assert_eq!(by_forwarded(&one, value), "192.0.2.1", "{value}");
    }
    for bad in ["for=unknown", "for=_x", "for", "by=192.0.2.1", "for=192.0.2.1;for=192.0.2.1", "for=\"192.0.2.1"] {
        assert_eq!(by_forwarded(&one, bad), "10.0.0.1", "{bad}");
    }
}

#[test]
fn the_other_header_is_never_read() {
    let lines = [("x-forwarded-for", "192.0.2.1"), ("forwarded", "for=192.0.2.2")];
    assert_eq!(found(&hops(ReportedBy::XForwardedFor, 1), &lines), "192.0.2.1");
    assert_eq!(found(&hops(ReportedBy::Forwarded, 1), &lines), "192.0.2.2");
    assert_eq!(found(&hops(ReportedBy::Forwarded, 1), &lines[..1]), "10.0.0.1");
}

/// What a client may send in a header, anything but a line's end.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(prop_oneof![32_u8..=126, 128_u8..=255, Just(9)], 0..40),
        "(for=|\"|\\\\|,|;| |6\\.6\\.6\\.6|10\\.6\\.6\\.6|\\[::6\\]|unknown|host=){0,16}".prop_map(String::into_bytes),
    ]
}

fn of_lines(from: &ClientAddress, name: HeaderName, lines: &[Vec<u8>]) -> IpAddr {
    let mut headers = HeaderMap::new();
    for line in lines {
        headers.append(&name, HeaderValue::from_bytes(line).unwrap());
    }
    from.of(&headers, "10.0.0.1".parse().unwrap())
}

proptest! {
    /// However a client writes, proxies that append to it are the only ones who are heard.
    #[test]
    fn a_client_never_chooses_the_address(
        sent in prop::collection::vec(anything(), 0..3),
        own_lines in any::<bool>(),
        inner in 0_usize..3,
        by in prop_oneof![Just(ReportedBy::XForwardedFor), Just(ReportedBy::Forwarded)],
    ) {
        let client = "203.0.113.7";
        // the client's own address, then those of the proxies behind the first
        let reports = std::iter::once(client.to_owned()).chain((0..inner).map(|i| format!("10.1.1.{i}")));
        let mut lines = sent;
        for report in reports {
            let report = match by {
                ReportedBy::XForwardedFor => report,
                ReportedBy::Forwarded => format!("for=\"{report}:80\";host=\"a\\\",for=6.6.6.6\""),
            };
            match lines.last_mut() {
                Some(line) if !own_lines => line.extend(format!(", {report}").bytes()),
                _ => lines.push(report.into_bytes()),
            }
        }
        for from in [hops(by, inner + 1), networks(by, &["10.0.0.0/8"])] {
            let name = from.header_name().unwrap();
            prop_assert_eq!(of_lines(&from, name, &lines).to_string(), client);
        }
    }

    /// A client that comes past the proxies is its own address, whatever it sends.
    #[test]
    fn outside_the_trusted_networks_nothing_is_read(sent in prop::collection::vec(anything(), 0..3)) {
        for by in [ReportedBy::XForwardedFor, ReportedBy::Forwarded] {
            let from = networks(by, &["172.16.0.0/12"]);
            let name = from.header_name().unwrap();
            prop_assert_eq!(of_lines(&from, name, &sent).to_string(), "10.0.0.1");
        }
    }
}
