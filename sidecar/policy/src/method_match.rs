//! Methods: the one that was sent, and those that a header asks the application to take instead.

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use crate::header_key::same_when_folded;

/// Headers by which frameworks let a client name another method. CGI can't tell `_` from `-` in them.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// True when the request, in some reading of its method, has one of `methods` (upper-case).
pub(crate) fn any_matches(methods: &[String], method: &Method, headers: &HeaderMap) -> bool {
    covered(methods, method.as_str().as_bytes())
        || asked_for(headers).any(|value| covered(methods, value.as_bytes().trim_ascii()))
}

/// True when the request, in every reading of its method, has one of `methods` (upper-case).
pub(crate) fn all_match(methods: &[String], method: &Method, headers: &HeaderMap) -> bool {
    covered(methods, method.as_str().as_bytes())
        && asked_for(headers).all(|value| covered(methods, value.as_bytes().trim_ascii()))
}

/// True for a header by which a client can name another method.
pub(crate) fn is_override(name: &HeaderName) -> bool {
    OVERRIDES.iter().any(|known| same_when_folded(name.as_str(), known))
}

fn asked_for(headers: &HeaderMap) -> impl Iterator<Item = &HeaderValue> {
    headers.iter().filter(|(name, _)| is_override(name)).map(|(_, value)| value)
}

/// True when `method` is among `methods`; GET covers HEAD, which an application answers with the same work.
fn covered(methods: &[String], method: &[u8]) -> bool {
    let is = |name: &str| name.as_bytes().eq_ignore_ascii_case(method);
    methods.iter().any(|name| is(name) || (name == "GET" && is("HEAD")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(wanted: &str, sent: &str, header: Option<(&'static str, &str)>) -> (bool, bool) {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        let (wanted, sent) = ([wanted.to_owned()], Method::from_bytes(sent.as_bytes()).unwrap());
        (any_matches(&wanted, &sent, &headers), all_match(&wanted, &sent, &headers))
    }

    fn matches_one(wanted: &str, sent: &str, header: Option<(&'static str, &str)>) -> bool {
        matches(wanted, sent, header).0
    }

    #[test]
    fn case_is_ignored_and_get_covers_head() {
        assert!(matches_one("GET", "GET", None));
        assert!(matches_one("GET", "get", None));
        assert!(matches_one("GET", "HEAD", None));
        assert!(!matches_one("HEAD", "GET", None));
        assert!(!matches_one("GET", "POST", None));
    }

    #[test]
    fn a_method_asked_for_by_header_counts_beside_the_one_sent() {
        let spelled = ["x_http_method_override", "x_http-method_override", "x_http_method", "x-method_override"];
        for name in OVERRIDES.into_iter().chain(spelled) {
            assert!(matches_one("DELETE", "POST", Some((name, " delete"))), "{name}");
            assert!(matches_one("POST", "POST", Some((name, "DELETE"))), "{name}");
        }
        assert!(!matches_one("DELETE", "POST", Some(("x-method", "DELETE"))));
    }

    #[test]
    fn every_reading_is_covered_only_where_the_override_is_too() {
        assert_eq!(matches("GET", "GET", None), (true, true));
        assert_eq!(matches("GET", "GET", Some(("x-http-method-override", "DELETE"))), (true, false));
        assert_eq!(matches("GET", "GET", Some(("x_http_method", "\u{e9}"))), (true, false));
        assert_eq!(matches("GET", "GET", Some(("x-method-override", "head"))), (true, true));
        assert_eq!(matches("GET", "DELETE", Some(("x-method-override", "GET"))), (true, false));
    }
}
