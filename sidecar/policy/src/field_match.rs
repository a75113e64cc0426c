//! One header or parameter of a match, in the form that runs.

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::header_key::same_when_folded;
use crate::pattern::{Pattern, Text};
use crate::seen::Parameters;

/// A header and what its value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeaderPattern {
    pub(crate) name: HeaderName,
    pub(crate) value: Pattern,
}

/// A parameter and what its value is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParameterPattern {
    pub(crate) name: Text,
    pub(crate) value: Pattern,
}

impl HeaderPattern {
    /// True when an application may see such a header: one of its lines matches, or all of them joined, in this spelling or
    /// in one that CGI can't tell from it (`x_plan` for `x-plan`).
    pub(crate) fn may_match(&self, headers: &HeaderMap) -> bool {
        let lines = || {
            let spelled = headers.iter().filter(|(name, _)| same_when_folded(name.as_str(), self.name.as_str()));
            spelled.map(|(_, value)| value.as_bytes().trim_ascii())
        };
        lines().any(|line| self.value.matches(line))
            || (lines().nth(1).is_some() && self.value.matches(&lines().collect::<Vec<_>>().join(&b", "[..])))
    }

    /// True when every application sees such a header: it comes once, in this spelling only, and matches.
    pub(crate) fn surely_matches(&self, headers: &HeaderMap) -> bool {
        let spelled = |name: &&HeaderName| same_when_folded(name.as_str(), self.name.as_str());
        let mut lines = headers.get_all(&self.name).iter().map(HeaderValue::as_bytes);
        match (headers.keys().filter(spelled).count(), lines.next(), lines.next()) {
            (1, Some(line), None) => self.value.matches(line.trim_ascii()),
            _ => false,
        }
    }
}

impl ParameterPattern {
    /// True when one parameter of this name matches.
    pub(crate) fn may_match(&self, query: &Parameters<'_>) -> bool {
        query.iter().any(|(name, value)| self.name.is(name) && self.value.matches(value))
    }

    /// True when there is one parameter of this name only, and it matches.
    pub(crate) fn surely_matches(&self, query: &Parameters<'_>) -> bool {
        let mut values = query.iter().filter(|(name, _)| self.name.is(name)).map(|(_, value)| value);
        values.next().is_some_and(|value| self.value.matches(value)) && values.next().is_none()
    }
}
