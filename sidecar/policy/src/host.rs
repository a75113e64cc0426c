//! The host a request is for, in the form in which hosts are compared: lower-case, without port and without the dot at the
//! end of a full name, which all name the same application.

use std::borrow::Cow;

use http::header;

use crate::route_table::RequestView;

/// The host of a request; `None` where it names none. The target's authority wins over the header Host (RFC 9112 §3.2.2);
/// that both, where both are there, are the same is seen to before.
pub(crate) fn of<'r>(request: &RequestView<'r>) -> Option<Cow<'r, str>> {
    let written = match request.target.authority() {
        Some(authority) => authority.as_str(),
        None => request.headers.get(header::HOST)?.to_str().ok()?,
    };
    normal(written)
}

/// `written`, an authority, in the form that is compared; `None` where nothing of a host is left of it.
pub(crate) fn normal(written: &str) -> Option<Cow<'_, str>> {
    let written = written.trim_ascii();
    let host = written.rsplit_once('@').map_or(written, |(_, host)| host);
    let host = without_port(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    if host.is_empty() {
        return None;
    }
    let lower = host.bytes().all(|b| !b.is_ascii_uppercase());
    Some(if lower { Cow::Borrowed(host) } else { Cow::Owned(host.to_ascii_lowercase()) })
}

/// An IPv6 address, which has colons of its own, stands in brackets and keeps them.
fn without_port(host: &str) -> &str {
    let end_of_address = if host.starts_with('[') { host.find(']').map_or(0, |end| end + 1) } else { 0 };
    match host[end_of_address..].find(':') {
        Some(colon) => &host[..end_of_address + colon],
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use http::{HeaderMap, HeaderValue, Method, Uri};
    use proptest::prelude::*;

    use super::*;

    fn host_of(target: &str, header: Option<&str>) -> Option<String> {
        let mut headers = HeaderMap::new();
        if let Some(host) = header {
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
        }
        let (method, target): (_, Uri) = (Method::GET, target.parse().unwrap());
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        of(&RequestView { method: &method, target: &target, headers: &headers, has_body: false, peer })
            .map(Cow::into_owned)
    }

    #[test]
    fn the_target_wins_over_the_header() {
        assert_eq!(host_of("/", Some("Shop.Example:8080")).as_deref(), Some("shop.example"));
        assert_eq!(host_of("http://a.example/", Some("b.example")).as_deref(), Some("a.example"));
        assert_eq!(host_of("/", None), None);
        assert_eq!(host_of("/", Some("")), None);
    }

    #[test]
    fn case_port_and_final_dot_make_no_other_host() {
        let same =
            ["shop.example", "SHOP.example", "shop.example.", "shop.example:80", "Shop.Example.:80", "shop.example:"];
        for written in same {
            assert_eq!(normal(written).as_deref(), Some("shop.example"), "{written}");
        }
        assert_eq!(normal("[2001:DB8::1]:8080").as_deref(), Some("[2001:db8::1]"));
        assert_eq!(normal("[2001:db8::1]").as_deref(), Some("[2001:db8::1]"));
        for nothing in ["", " ", ".", ":80", ".:80"] {
            assert_eq!(normal(nothing), None, "{nothing:?}");
        }
    }

    proptest! {
        #[test]
        fn the_normal_form_of_a_normal_form_is_itself(name in "[A-Za-z0-9-]{1,9}(\\.[A-Za-z0-9-]{1,9}){0,3}\\.?(:[0-9]{0,5})?") {
            let once = normal(&name).unwrap();
            let twice = normal(&once);
            prop_assert_eq!(twice.as_deref(), Some(&*once));
        }
    }
}
