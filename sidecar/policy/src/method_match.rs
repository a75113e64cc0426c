//! Methods: the one that was sent, and those that a header asks the application to take instead.

use http::{HeaderMap, Method};

use crate::header_key::same_when_folded;

/// Headers by which frameworks let a client name another method. CGI can't tell `_` from `-` in them.
const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];

/// True when the request, in any reading of its method, has one of `methods` (upper-case).
pub(crate) fn matches(methods: &[String], method: &Method, headers: &HeaderMap) -> bool {
    covered(methods, method.as_str())
        || headers
            .iter()
            .filter(|(name, _)| OVERRIDES.iter().any(|known| same_when_folded(name.as_str(), known)))
            .filter_map(|(_, value)| value.to_str().ok())
            .any(|value| covered(methods, value.trim()))
}

/// True when `method` is among `methods`; GET covers HEAD, which an application answers with the same work.
fn covered(methods: &[String], method: &str) -> bool {
    methods.iter().any(|m| m.eq_ignore_ascii_case(method) || (m == "GET" && method.eq_ignore_ascii_case("HEAD")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn matches_one(wanted: &str, sent: &str, header: Option<(&'static str, &str)>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, HeaderValue::from_str(value).unwrap());
        }
        matches(&[wanted.to_owned()], &Method::from_bytes(sent.as_bytes()).unwrap(), &headers)
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
}
