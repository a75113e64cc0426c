//! The seam between connections and limits: who forwards requests asks a gate about each one. What the gate looks at is
//! its own matter; this file has no opinion about policies.
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use std::future::Future;
use std::net::IpAddr;

/// Decides about each request before anything of it is forwarded.
pub trait Gate: Send + Sync + 'static {
    /// The ruling about one request. `parts` is the request as it came but for the hop-by-hop headers: its target raw,
    /// `X-Forwarded-For` without an entry of ours; `peer` is the connected address, an IPv4 one never in its mapped form. The body has not been read.
    fn rule(&self, parts: &Parts, peer: IpAddr) -> impl Future<Output = Ruling> + Send;

    /// True for a header that some policy reads: a client can't have it removed by naming it in `Connection`.
    fn reads(&self, _name: &HeaderName) -> bool {
        false
    }
}

/// What a gate says about one request.
#[derive(Debug)]
pub enum Ruling {
    /// Forward it, and put these headers on the response.
    Admit(LimitHeaders),
    /// Answer this instead; complete, with headers and body (the body is dropped for HEAD).
    Refuse(Box<Response<Bytes>>),
}

/// The `X-RateLimit-*` headers of an admitted response, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitHeaders(Option<Numbers>);

/// The numbers of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// N of a window, B of a bucket.
    pub limit: u64,
    /// Whole units left.
    pub remaining: u64,
    /// Seconds, rounded up, until the window ends or the bucket is full.
    pub reset: u64,
}

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

impl LimitHeaders {
    /// No limit applied, so nothing is said.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// These numbers.
    #[must_use]
    pub fn new(numbers: Numbers) -> Self {
        Self(Some(numbers))
    }

    /// Adds the three headers, unless the application sent any of them: then all of ours stay out, as numbers of two
    /// limiters side by side could not be told apart.
    pub fn apply(&self, headers: &mut HeaderMap) {
        let Some(numbers) = self.0 else { return };
        if [LIMIT, REMAINING, RESET].iter().any(|name| headers.contains_key(name)) {
            return;
        }
        numbers.write(headers);
    }
}

impl Numbers {
    /// Puts the three headers in, replacing what is there.
    pub fn write(&self, headers: &mut HeaderMap) {
        headers.insert(LIMIT, HeaderValue::from(self.limit));
        headers.insert(REMAINING, HeaderValue::from(self.remaining));
        headers.insert(RESET, HeaderValue::from(self.reset));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_header_of_the_application_keeps_ours_out_as_a_group() {
        let ours = LimitHeaders::new(Numbers { limit: 20, remaining: 3, reset: 60 });
        let mut headers = HeaderMap::new();
        ours.apply(&mut headers);
        assert_eq!(headers.len(), 3);
        let mut headers = HeaderMap::new();
        headers.insert(RESET, HeaderValue::from(7));
        ours.apply(&mut headers);
        assert_eq!(headers.len(), 1);
    }
}
