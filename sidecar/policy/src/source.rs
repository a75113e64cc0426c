//! What of a request is read by name and may be absent: a header, a cookie, a parameter of the query, the host. Each has one
//! value, none, or can't be counted by.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderName, header};

use crate::one_value::{self, Unusable};
use crate::route_table::RequestView;
use crate::{cookie, header_key, host, query};

/// Where in a request a value stands. Displayed, it is named for a person: `header x-tenant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'t> {
    /// A header.
    Header(&'t HeaderName),
    /// A cookie, by its name as it is written.
    Cookie(&'t str),
    /// A parameter of the query, by its name as it is meant.
    Query(&'t str),
    /// The host that the request is for.
    Host,
}

impl Source<'_> {
    /// The value; `None` when it is absent or empty. Nothing is allocated for what is written plainly.
    pub(crate) fn read<'r>(self, request: &RequestView<'r>) -> Result<Option<Cow<'r, [u8]>>, Unusable> {
        match self {
            Self::Header(name) => Ok(header_key::read(request.headers, name)?.map(Cow::Borrowed)),
            Self::Cookie(name) => cookie::read(request.headers, name),
            Self::Query(name) => {
                let pairs = query::pairs(request.target.query().unwrap_or_default());
                one_value::of(pairs.filter(|(other, _)| **other == *name.as_bytes()).map(|(_, value)| value))
            }
            Self::Host => one_value::of(host::of(request).map(bytes).into_iter()),
        }
    }

    /// The header that is read; of a host, which no client can take off, none.
    pub(crate) fn header_name(self) -> Option<HeaderName> {
        match self {
            Self::Header(name) => Some(name.clone()),
            Self::Cookie(_) => Some(header::COOKIE),
            Self::Query(_) | Self::Host => None,
        }
    }
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name}"),
            Self::Cookie(name) => write!(f, "cookie {name}"),
            // of any characters
            Self::Query(name) => write!(f, "query parameter {}", name.escape_debug()),
            Self::Host => f.write_str("host"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use http::{HeaderMap, Method, Uri};

    use super::*;

    fn read(source: Source<'_>, target: &str) -> Result<Option<String>, Unusable> {
        let (method, target, headers) = (Method::GET, target.parse::<Uri>().unwrap(), HeaderMap::new());
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let view = RequestView { method: &method, target: &target, headers: &headers, has_body: false, peer };
        Ok(source.read(&view)?.map(|value| String::from_utf8_lossy(&value).into_owned()))
    }

    #[test]
    fn a_parameter_is_found_by_what_its_name_means_and_has_one_value() {
        let q = |target: &str| read(Source::Query("a b"), target);
        for target in ["/?a+b=v+w", "/?x=1&a%20b=v%20w&y", "/?a+b=v+w&%61+b=v%20w", "http://h/?a+b=v+w"] {
            assert_eq!(q(target), Ok(Some("v w".to_owned())), "{target}");
        }
        for target in ["*", "/", "/?", "/?a+b", "/?a+b=", "/?A+b=v", "/?a=v", "/a+b=v"] {
            assert_eq!(q(target), Ok(None), "{target}");
        }
        for target in ["/?a+b=1&a+b=2", "/?a+b=1&a%20b=2", "/?a+b=&a+b=2", "/?a+b&a+b=2"] {
            assert_eq!(q(target), Err(Unusable::Ambiguous), "{target}");
        }
        let long = "v".repeat(one_value::MAX_VALUE);
        assert_eq!(q(&format!("/?a+b={long}")), Ok(Some(long.clone())));
        assert_eq!(q(&format!("/?a+b={long}v")), Err(Unusable::TooLong));
        // as long as what it means
        assert_eq!(q(&format!("/?a+b=%76{}", &long[1..])), Ok(Some(long.clone())));
    }

    #[test]
    fn a_host_is_the_targets_in_lower_case() {
        assert_eq!(read(Source::Host, "http://Shop.Example:80/"), Ok(Some("shop.example".to_owned())));
        assert_eq!(read(Source::Host, "/"), Ok(None));
    }

    #[test]
    fn a_source_is_named_on_one_line() {
        let header = HeaderName::from_static("x-tenant");
        assert_eq!(Source::Header(&header).to_string(), "header x-tenant");
        assert_eq!(Source::Cookie("session").to_string(), "cookie session");
        assert_eq!(Source::Query("q").to_string(), "query parameter q");
        assert_eq!(Source::Query("a\nb\"").to_string(), "query parameter a\\nb\\\"");
        assert_eq!(Source::Host.to_string(), "host");
    }
}
