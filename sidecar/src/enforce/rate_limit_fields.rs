//! The values of `RateLimit-Policy` and `RateLimit`, structured fields (RFC 9651) after
//! draft-ietf-httpapi-ratelimit-headers-11. The draft's number and its syntax are in this file only.
//!
//! The revision after it (-12, of 20 November 2026) calls the two parameters of `RateLimit` `a` and `w` where this one
//! says `r` and `t`, going by its editor's copies since August 2026. Each takes the other's names as parameters that it
//! does not know, which it passes over, so both are sent and a client of either is served.
use http::HeaderValue;
use std::fmt::Write;
use std::time::Duration;
use weir_limiter::{Algorithm, Limit};

/// How many quota policies are told at most.
const ITEMS: usize = 8;

/// How long `RateLimit-Policy` gets at most, in bytes.
const BYTES: usize = 1024;

/// `RateLimit-Policy` (§3): each limit with its name, in this order, as far as there is room for them; a name that was
/// told before is left out, as it may be there once only. `q` is what is there when nothing was used, `w` in how long
/// so much comes back.
pub(super) fn quota_policies<'l>(limits: impl IntoIterator<Item = (String, &'l Limit)>) -> Option<HeaderValue> {
    let mut told: Vec<String> = Vec::new();
    let mut value = String::new();
    for (name, limit) in limits {
        if told.len() == ITEMS {
            break;
        }
        if told.contains(&name) {
            continue;
        }
        let start = value.len();
        let separator = if told.is_empty() { "" } else { ", " };
        let _ = write!(value, "{separator}\"{name}\";q={}", limit.capacity());
        if let Some(seconds) = window(limit) {
            let _ = write!(value, ";w={seconds}");
        }
        if value.len() > BYTES {
            value.truncate(start);
            break;
        }
        told.push(name);
    }
    header(&value)
}

/// `RateLimit` (§4): the units that the limit of this name has left, and for how many seconds there will be no more; none
/// when nothing is used, or where waiting never helps.
pub(super) fn service_limit(name: &str, left: u64, seconds: Option<u64>) -> Option<HeaderValue> {
    header(&match seconds {
        Some(seconds) => format!("\"{name}\";r={left};t={seconds};a={left};w={seconds}"),
        None => format!("\"{name}\";r={left};a={left}"),
    })
}

/// Whether ours can follow this value of an application: drafts before the eighth had a dictionary (`limit=100, …`),
/// which an item of a list would break for who reads it.
pub(super) fn is_list(value: &HeaderValue) -> bool {
    let first = value.as_bytes().split(|byte| matches!(byte, b';' | b',')).next().unwrap_or_default();
    first.starts_with(b"\"") || !first.contains(&b'=')
}

/// `w`: whole seconds, at least 1. A bucket's is rounded up; a period that is not whole seconds is not told.
fn window(limit: &Limit) -> Option<u64> {
    let period = limit.quota().period();
    let seconds = match limit.algorithm() {
        Algorithm::FixedWindow | Algorithm::SlidingWindow | Algorithm::SlidingLog => {
            (period.subsec_nanos() == 0).then_some(period.as_secs())?
        }
        Algorithm::TokenBucket | Algorithm::LeakyBucket => {
            let second = Duration::from_secs(1).as_micros() * u128::from(limit.quota().requests());
            let refill = u128::from(limit.capacity()) * period.as_micros();
            // none for N = 0, and none below a second: what comes back in 10 ms would look a hundred times too slow
            (second > 0 && refill >= second).then(|| refill.div_ceil(second))?.try_into().ok()?
        }
    };
    (seconds > 0).then_some(seconds)
}

/// None for an empty value. Names are those of Kubernetes objects, so nothing in them is to be escaped.
fn header(value: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(value).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
