//! The seam between connections and limits: who forwards requests asks a gate about each one. What the gate looks at is
//! its own matter; this file has no opinion about policies.
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Response};
use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::time::Instant;

/// Decides about each request before anything of it is forwarded.
pub trait Gate: Send + Sync + 'static {
    /// The ruling about one request. `parts` is the request as it came but for the hop-by-hop headers: its target raw,
    /// `X-Forwarded-For` without an entry of ours; `peer` is the connected address, an IPv4 one never in its mapped form. The body, if one follows, has not been read.
    fn rule(&self, parts: &Parts, has_body: bool, peer: IpAddr) -> impl Future<Output = Ruling> + Send;

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
    /// Forward it when its time has come, unless its client leaves before.
    Hold(Held),
    /// Answer this instead; complete, with headers and body (the body is dropped for HEAD).
    Refuse(Box<Response<Bytes>>),
}

/// An admitted request that waits. The gate is told how that ends; dropping this is the client's leaving.
pub struct Held {
    until: Instant,
    headers: LimitHeaders,
    end: Option<End>,
}

/// How the wait of a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// Its time came: it goes on to the application.
    GoesOn,
    /// Its client left.
    Left,
    /// This process ends before its time: it is answered 503.
    TurnedAway,
}

type End = Box<dyn FnOnce(WaitEnd) + Send>;

impl Held {
    /// To go on at `until`, then with these headers on the response. `end` is called once, and keeps what is to be kept
    /// until then.
    #[must_use]
    pub fn new(until: Instant, headers: LimitHeaders, end: impl FnOnce(WaitEnd) + Send + 'static) -> Self {
        Self { until, headers, end: Some(Box::new(end)) }
    }

    /// When it goes on.
    #[must_use]
    pub fn until(&self) -> Instant {
        self.until
    }

    /// It goes on.
    pub fn goes_on(mut self) -> LimitHeaders {
        self.ends(WaitEnd::GoesOn);
        std::mem::take(&mut self.headers)
    }

    /// This process ends before its time.
    pub fn turned_away(mut self) {
        self.ends(WaitEnd::TurnedAway);
    }

    fn ends(&mut self, how: WaitEnd) {
        if let Some(end) = self.end.take() {
            end(how);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.ends(WaitEnd::Left);
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("until", &self.until).finish_non_exhaustive()
    }
}

/// What the response to an admitted request says about limits, put on it when it goes out.
#[derive(Default)]
pub struct LimitHeaders(Option<Put>);

type Put = Box<dyn Fn(&mut HeaderMap) + Send + Sync>;

impl LimitHeaders {
    /// Nothing is said.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// What `put` does to the headers of the application.
    #[must_use]
    pub fn new(put: impl Fn(&mut HeaderMap) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(put)))
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Puts them on a response that goes out now.
    pub fn apply(&self, headers: &mut HeaderMap) {
        if let Some(put) = &self.0 {
            put(headers);
        }
    }
}

impl fmt::Debug for LimitHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_none() { "LimitHeaders(none)" } else { "LimitHeaders(some)" })
    }
}
