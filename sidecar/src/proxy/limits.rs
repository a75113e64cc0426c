//! What the proxy allows itself and its clients. Plain values; who enforces which is said at each.
use std::time::Duration;

/// Bounds of the proxy. [`Default`] gives the documented values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyLimits {
    /// Client connections over all listeners; at this number accepting stops. Default 4,096.
    pub connections: usize,
    /// Tunnels (WebSocket, CONNECT) over all connections; one more is answered 503. Default 1,000.
    pub tunnels: usize,
    /// Whether CONNECT is passed on (HTTP/1.1). Default no, it is answered 405: an application that is no forward proxy may
    /// answer it like any other request, and what then looks like a tunnel is a connection on which nobody counts.
    pub connect: bool,
    /// Bytes of a request's head, HTTP/2: its uncompressed list; more is answered 431. Default 64 KiB.
    pub head_bytes: usize,
    /// Bytes of a request's target; more is answered 414. Default 16 KiB.
    pub target_bytes: usize,
    /// From accept to a first whole head, and from a later head's first byte to its last; then 408. Default 10 s.
    pub head_time: Duration,
    /// How long a connection may be idle between two requests; the application's own limit is usually shorter and is
    /// followed. Default 1 h.
    pub idle_time: Duration,
    /// How long connecting to the application may take; then 502. Default 5 s.
    pub connect_time: Duration,
    /// How much of a refused request's body is read and dropped to keep the connection usable. Default 256 KiB.
    pub discard_bytes: u64,
    /// For how long. Default 1 s.
    pub discard_time: Duration,
    /// How long a connection that is closed with its client still sending is read from, so that the client sees the
    /// answer and not a reset. Default 2 s.
    pub linger_time: Duration,
    /// How long a body waits for the application's `100 Continue`. Default 1 s.
    pub continue_time: Duration,
    /// How long what is in flight may take once the phase is stopping. Default 25 s.
    pub stop_time: Duration,
    /// Client resets without a response within 10 s that one HTTP/2 connection may make; then GOAWAY. Default 200.
    pub resets: u32,
    /// What is done about `X-Forwarded-For`.
    pub forwarded_for: ForwardedFor,
}

/// The header fields a request may have; more is answered 431.
pub(crate) const FIELDS: usize = 256;

/// What is done about `X-Forwarded-For` on the way to the application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedFor {
    /// Present: left as it is; absent: the peer. Applications that count hops from the right see no new hop.
    #[default]
    Preserve,
    /// The peer is appended, as other reverse proxies do.
    Append,
}

impl Default for ProxyLimits {
    fn default() -> Self {
        Self {
            connections: 4_096,
            tunnels: 1_000,
            connect: false,
            head_bytes: 64 << 10,
            target_bytes: 16 << 10,
            head_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(3_600),
            connect_time: Duration::from_secs(5),
            discard_bytes: 256 << 10,
            discard_time: Duration::from_secs(1),
            linger_time: Duration::from_secs(2),
            continue_time: Duration::from_secs(1),
            stop_time: Duration::from_secs(25),
            resets: 200,
            forwarded_for: ForwardedFor::Preserve,
        }
    }
}
