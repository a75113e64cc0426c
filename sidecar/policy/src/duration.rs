//! Lengths of time as policies write them: `500ms`, `1m30s`, `24h`. Whole numbers only, each unit at most once, largest
//! first, exact to the microsecond. Not here: which lengths a field allows.

use std::time::Duration;

/// The units with their length in microseconds and how many digits are read, as in the schema's rule: few enough that no
/// sum overflows, here or in the API server's `duration()`.
const UNITS: [(&str, u64, usize); 5] =
    [("h", 3_600_000_000, 4), ("m", 60_000_000, 6), ("s", 1_000_000, 8), ("ms", 1_000, 11), ("us", 1, 14)];

/// Reads a length of time; `None` when the text is no such thing.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut micros: u64 = 0;
    let mut larger_units = UNITS.as_slice();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, after) = tail.split_at(letters);
        let at = larger_units.iter().position(|(name, _, _)| *name == unit)?;
        let (_, length, most_digits) = larger_units[at];
        if digits == 0 || digits > most_digits {
            return None;
        }
        micros = micros.checked_add(number.parse::<u64>().ok()?.checked_mul(length)?)?;
        larger_units = &larger_units[at + 1..];
        rest = after;
    }
    Some(Duration::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_with_units_are_read_exactly() {
        for (text, micros) in [
            ("500ms", 500_000),
            ("1m30s", 90_000_000),
            ("24h", 86_400_000_000),
            ("720h", 2_592_000_000_000),
            ("1s1us", 1_000_001),
            ("0s", 0),
            ("2592000000ms", 2_592_000_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "", "1", "1x", "1d", "1.5s", "-1s", "+1s", "1s1m", "1s1s", "s", " 1s", "1s ", "1 s", "1S", "1µs", "99999h",
            "1ns", "1h ", "١s",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
