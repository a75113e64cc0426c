//! What a request costs, in the form that runs.

use http::HeaderName;

use crate::one_value::Unusable;
use crate::route_table::RequestView;
use crate::source::Source;

/// What a request costs, in the limit's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for every request; 0 takes nothing.
    Fixed(u64),
    /// What the request says.
    Sent {
        /// Where.
        source: CostSource,
        /// Where it is absent, empty or no whole number: 1 to `max`.
        default: u64,
        /// The most that one request costs; at least 1, and no more than can pass.
        max: u64,
    },
}

/// Where a request says what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CostSource {
    /// In a header.
    Header(HeaderName),
    /// In a parameter of the query.
    Query(String),
}

impl CostSource {
    pub(crate) fn source(&self) -> Source<'_> {
        match self {
            Self::Header(name) => Source::Header(name),
            Self::Query(name) => Source::Query(name),
        }
    }
}

impl Cost {
    /// What is read of a request, if something is.
    pub(crate) fn source(&self) -> Option<Source<'_>> {
        match self {
            Self::Fixed(_) => None,
            Self::Sent { source, .. } => Some(source.source()),
        }
    }

    /// What a request costs of a limit that holds `capacity`. Only a fixed cost is ever 0, or more than that.
    pub(crate) fn of(&self, request: &RequestView<'_>, capacity: u64) -> Result<u64, (Source<'_>, Unusable)> {
        let (source, default, max) = match self {
            Self::Fixed(value) => return Ok(*value),
            Self::Sent { source, default, max } => (source.source(), *default, *max),
        };
        let value = source.read(request).map_err(|why| (source, why))?;
        let cost = value.and_then(|value| whole_number(&value)).map_or(default, |cost| cost.clamp(1, max));
        Ok(cost.min(capacity.max(1)))
    }
}

/// A whole number with or without a sign, as most applications read it: below 0 it is 0, and above 2^64 - 1 it is that.
fn whole_number(text: &[u8]) -> Option<u64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let append = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(if negative { 0 } else { digits.iter().fold(0, append) })
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use http::{HeaderMap, HeaderValue, Method, Uri};
    use proptest::prelude::*;

    use super::*;

    fn cost(headers: &[(&'static str, &[u8])]) -> Result<u64, Unusable> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let source = CostSource::Header(HeaderName::from_static("x-cost"));
        let cost = Cost::Sent { source, default: 3, max: 10 };
        let (method, target, peer) = (Method::GET, Uri::from_static("/"), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let request = RequestView { method: &method, target: &target, headers: &map, has_body: false, peer };
        cost.of(&request, 100).map_err(|(_, why)| why)
    }

    #[test]
    fn a_number_in_the_header_is_held_between_1_and_max() {
        let numbers = [
            ("1", 1),
            ("7", 7),
            (" 7 ", 7),
            ("007", 7),
            ("+7", 7),
            ("10", 10),
            ("11", 10),
            ("0", 1),
            ("-0", 1),
            ("-7", 1),
            ("18446744073709551615", 10),
            ("18446744073709551616", 10),
            ("99999999999999999999999999999999", 10),
            ("-99999999999999999999999999999999", 1),
        ];
        for (value, held) in numbers {
            assert_eq!(cost(&[("x-cost", value.as_bytes())]), Ok(held), "{value:?}");
        }
    }

    #[test]
    fn what_is_absent_or_no_whole_number_costs_the_default() {
        assert_eq!(cost(&[]), Ok(3));
        for value in
            ["", " ", "-", "+", "--7", "+-7", "seven", "7.0", "7e0", "0x7", "7 7", "7,7", "1_0", "\u{0667}", "NaN"]
        {
            assert_eq!(cost(&[("x-cost", value.as_bytes())]), Ok(3), "{value:?}");
        }
        assert_eq!(cost(&[("x-cost", b"\xff7")]), Ok(3));
    }

    #[test]
    fn two_values_another_spelling_and_a_long_value_are_no_cost() {
        assert_eq!(cost(&[("x-cost", b"7"), ("x-cost", b"7")]), Ok(7));
        assert_eq!(cost(&[("x-cost", b"7"), ("x-cost", b"8")]), Err(Unusable::Ambiguous));
        assert_eq!(cost(&[("x-cost", b"7"), ("x_cost", b"7")]), Err(Unusable::Ambiguous));
        assert_eq!(cost(&[("x_cost", b"7")]), Err(Unusable::Ambiguous));
        assert_eq!(cost(&[("x-cost", &[b'7'; 8 * 1024 + 1])]), Err(Unusable::TooLong));
    }

    proptest! {
        #[test]
        fn no_header_makes_a_request_free_or_dearer_than_max(value in prop::collection::vec(any::<u8>(), 0..40)) {
            if HeaderValue::from_bytes(&value).is_ok() {
                prop_assert!((1..=10).contains(&cost(&[("x-cost", &value)]).unwrap()));
            }
        }
    }
}
