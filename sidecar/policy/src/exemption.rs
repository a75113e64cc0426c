//! Requests that no limit of a policy sees, in the form that runs.

use http::{HeaderMap, HeaderName, Method, header};

use crate::client_address::Client;
use crate::method_match;
use crate::request_match::CompiledMatch;
use crate::seen::Seen;

/// One kind of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Exemption {
    Match(CompiledMatch),
    CorsPreflight,
}

impl Exemption {
    /// True when the request is exempt however it is read.
    pub(crate) fn holds(&self, request: &Seen<'_, '_>, client: &Client<'_>) -> bool {
        match self {
            Self::Match(matches) => matches.surely_holds(request, client),
            Self::CorsPreflight => {
                let view = request.view;
                *view.method == Method::OPTIONS && !view.has_body && is_preflight(view.headers)
            }
        }
    }

    /// True when it reads a header of which `is` holds.
    pub(crate) fn reads(&self, is: impl Fn(&str) -> bool) -> bool {
        match self {
            Self::Match(matches) => matches.reads(is),
            Self::CorsPreflight => {
                [header::ORIGIN, header::ACCESS_CONTROL_REQUEST_METHOD].iter().any(|name| is(name.as_str()))
            }
        }
    }
}

/// As the Fetch standard has it: two headers, each once, and nothing of who asks. No browser has it ask for another method.
fn is_preflight(headers: &HeaderMap) -> bool {
    let once = |name: HeaderName| headers.get_all(name).iter().count() == 1;
    once(header::ORIGIN)
        && once(header::ACCESS_CONTROL_REQUEST_METHOD)
        && !headers.contains_key(header::AUTHORIZATION)
        && !headers.contains_key(header::COOKIE)
        && !headers.keys().any(method_match::is_override)
}
