//! Times as they are written in flags: one number and one unit.
use std::time::Duration;

/// A time such as `500ms`, `25s` or `2m`, at most a day.
///
/// # Errors
/// When it isn't one.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is not a time; write it as 500ms, 25s or 2m, at most 24h");
    let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let millis = match &text[digits..] {
        "ms" => Some(number),
        "s" => number.checked_mul(1_000),
        "m" => number.checked_mul(60_000),
        "h" => number.checked_mul(3_600_000),
        _ => None,
    };
    millis.filter(|millis| *millis <= 86_400_000).map(Duration::from_millis).ok_or_else(wrong)
}

/// The same, but not zero: a bound of no time at all would let nothing through.
///
/// # Errors
/// When it isn't one, or is zero.
pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is no time at all; write at least 1ms, as 500ms, 25s or 2m")),
        time => Ok(time),
    }
}
