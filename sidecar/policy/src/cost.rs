//! What a request costs, in the form that runs.

use http::{HeaderMap, HeaderName};

use crate::header_key;
use crate::one_value::Unusable;

/// What a request costs, in the limit's units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cost {
    /// The same for every request; 0 takes nothing.
    Fixed(u64),
    /// What a header says.
    Header {
        /// The header.
        name: HeaderName,
        /// Where it is absent, empty or no whole number: 1 to `max`.
        default: u64,
        /// The most that one request costs; at least 1, and no more than can pass.
        max: u64,
    },
}

impl Cost {
    /// The header that is read, if one is.
    pub(crate) fn header_name(&self) -> Option<&HeaderName> {
        match self {
            Self::Fixed(_) => None,
            Self::Header { name, .. } => Some(name),
        }
    }

    /// True when it is the same for every request.
    pub(crate) fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// What a request with these headers costs. Only a fixed cost is ever 0.
    pub(crate) fn of(&self, headers: &HeaderMap) -> Result<u64, (&HeaderName, Unusable)> {
        let (name, default, max) = match self {
            Self::Fixed(value) => return Ok(*value),
            Self::Header { name, default, max } => (name, *default, *max),
        };
        let value = header_key::read(headers, name).map_err(|why| (name, why))?;
        Ok(value.and_then(whole_number).map_or(default, |cost| cost.clamp(1, max)))
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
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn cost(headers: &[(&'static str, &[u8])]) -> Result<u64, Unusable> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value).unwrap());
        }
        let cost = Cost::Header { name: HeaderName::from_static("x-cost"), default: 3, max: 10 };
        cost.of(&map).map_err(|(_, why)| why)
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
