//! Amounts of CPU and memory as Kubernetes writes them (`50m`, `64Mi`, `1e3`): kept as written, compared as numbers.

use std::cmp::Ordering;
use std::fmt;

/// An amount that is not negative.
#[derive(Clone, Debug)]
pub(super) struct Quantity {
    text: String,
    /// In billionths: the smallest unit that Kubernetes has.
    nanos: u128,
}

// === impl Quantity ===

impl Quantity {
    /// Reads a Kubernetes quantity; none where it isn't one, is negative, or is larger than 10^18 units.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(number_end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || digits.len() > 18 || fraction.contains('.') {
            return None;
        }
        let (factor, divisor) = scale(suffix)?;
        let digits: u128 = digits.parse().ok()?;
        let scaled = digits.checked_mul(factor)?.checked_mul(1_000_000_000)?;
        let divisor = divisor.checked_mul(10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?)?;
        // Kubernetes rounds up what is finer than a billionth.
        let nanos = scaled.div_ceil(divisor);
        (nanos <= 10u128.pow(27)).then(|| Self { text: text.to_owned(), nanos })
    }

    pub(super) fn is_positive(&self) -> bool {
        self.nanos > 0
    }

    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

/// Factor and divisor of a suffix.
fn scale(suffix: &str) -> Option<(u128, u128)> {
    let one = match suffix {
        "n" => (1, 1_000_000_000),
        "u" => (1, 1_000_000),
        "m" => (1, 1_000),
        "" => (1, 1),
        "k" => (1_000, 1),
        "M" => (1_000_000, 1),
        "G" => (10u128.pow(9), 1),
        "T" => (10u128.pow(12), 1),
        "P" => (10u128.pow(15), 1),
        "E" => (10u128.pow(18), 1),
        "Ki" => (1 << 10, 1),
        "Mi" => (1 << 20, 1),
        "Gi" => (1 << 30, 1),
        "Ti" => (1 << 40, 1),
        "Pi" => (1 << 50, 1),
        "Ei" => (1 << 60, 1),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let (negative, digits) = match exponent.strip_prefix('-') {
                Some(digits) => (true, digits),
                None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
            };
            let power = 10u128.checked_pow(digits.parse::<u32>().ok().filter(|p| *p <= 18)?)?;
            if negative { (1, power) } else { (power, 1) }
        }
    };
    Some(one)
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.nanos.partial_cmp(&other.nanos)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(text: &str) -> Quantity {
        Quantity::parse(text).unwrap_or_else(|| panic!("{text} is a quantity"))
    }

    #[test]
    fn the_same_amount_is_equal_however_it_is_written() {
        for (one, other) in
            [("1", "1000m"), ("0.5", "500m"), ("1Ki", "1024"), ("1e3", "1k"), ("1.5Gi", "1536Mi"), ("2E-3", "2m")]
        {
            assert_eq!(q(one), q(other), "{one} {other}");
        }
        assert!(q("64Mi") < q("64.1Mi"));
        assert!(q("100m") < q("1"));
    }

    #[test]
    fn what_is_no_quantity_is_refused() {
        for text in ["", "x", "-1", "1 Mi", "1mi", "1.2.3", "1e", "1e999", "9999999999999999999999", ".", "Mi", "1KiB"]
        {
            assert!(Quantity::parse(text).is_none(), "{text:?}");
        }
    }
}
