//! The flags of `weir-sidecar run` that bound the proxy itself.
use super::duration::some_time;
use crate::proxy::{ForwardedFor, ProxyLimits};
use clap::Args;
use std::time::Duration;

/// What the sidecar allows itself and its clients.
#[derive(Clone, Debug, Args)]
pub struct ProxyFlags {
    /// Client connections at once; further ones wait to be accepted
    #[arg(long, env = "WEIR_MAX_CONNECTIONS", value_name = "N", default_value_t = 4096, value_parser = count, help_heading = "Bounds", hide_short_help = true)]
    pub max_connections: usize,
    /// Tunnels (WebSocket, CONNECT) at once; a further one is answered 503
    #[arg(long, env = "WEIR_MAX_TUNNELS", value_name = "N", default_value_t = 1000, value_parser = count, help_heading = "Bounds", hide_short_help = true)]
    pub max_tunnels: usize,
    /// Requests that wait for their turn at once (queue, slowdown); a further one that would have to wait is refused
    #[arg(long, env = "WEIR_MAX_WAITING", value_name = "N", default_value_t = 1000, value_parser = count, help_heading = "Bounds", hide_short_help = true)]
    pub max_waiting: usize,
    /// Pass CONNECT on (HTTP/1.1): for an application that is a forward proxy. Any other may answer it like a plain request,
    /// and the client could then send it requests that nobody counts; so without this flag it is answered 405
    #[arg(long, env = "WEIR_CONNECT_TUNNELS", help_heading = "Bounds", hide_short_help = true)]
    pub connect_tunnels: bool,
    /// Bytes of a request's head; more is answered 431
    #[arg(long, env = "WEIR_MAX_HEAD_BYTES", value_name = "BYTES", default_value_t = 65536, value_parser = bytes, help_heading = "Bounds", hide_short_help = true)]
    pub max_head_bytes: usize,
    /// Bytes of a request's target; more is answered 414
    #[arg(long, env = "WEIR_MAX_TARGET_BYTES", value_name = "BYTES", default_value_t = 16384, value_parser = bytes, help_heading = "Bounds", hide_short_help = true)]
    pub max_target_bytes: usize,
    /// Client resets within 10 s that an HTTP/2 connection may make before it is closed
    #[arg(long, env = "WEIR_MAX_RESETS", value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Bounds", hide_short_help = true)]
    pub max_resets: u32,
    /// How long a request's head may take, from its first byte; then 408
    #[arg(long, env = "WEIR_HEAD_TIME", value_name = "TIME", default_value = "10s", value_parser = some_time, help_heading = "Bounds", hide_short_help = true)]
    pub head_time: Duration,
    /// How long a connection may be idle, if the application doesn't close it sooner
    #[arg(long, env = "WEIR_IDLE_TIME", value_name = "TIME", default_value = "1h", value_parser = some_time, help_heading = "Bounds", hide_short_help = true)]
    pub idle_time: Duration,
    /// How long connecting to the application may take; then 502
    #[arg(long, env = "WEIR_CONNECT_TIME", value_name = "TIME", default_value = "5s", value_parser = some_time, help_heading = "Bounds", hide_short_help = true)]
    pub connect_time: Duration,
    /// X-Forwarded-For on its way to the application: left as it is and set to the client where absent, or the client
    /// appended
    #[arg(
        long,
        env = "WEIR_X_FORWARDED_FOR",
        value_name = "HOW",
        default_value = "preserve",
        value_enum,
        help_heading = "Bounds",
        hide_short_help = true
    )]
    pub x_forwarded_for: XForwardedFor,
}

/// What happens to `X-Forwarded-For`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum XForwardedFor {
    /// Left as it is; set to the client where it is absent.
    Preserve,
    /// The client is appended.
    Append,
}

impl ProxyFlags {
    /// As the proxy takes them; `stop_time` bounds what is in flight at the end.
    #[must_use]
    pub fn limits(&self, stop_time: Duration) -> ProxyLimits {
        ProxyLimits {
            connections: self.max_connections,
            tunnels: self.max_tunnels,
            connect: self.connect_tunnels,
            head_bytes: self.max_head_bytes,
            target_bytes: self.max_target_bytes,
            resets: self.max_resets,
            head_time: self.head_time,
            idle_time: self.idle_time,
            connect_time: self.connect_time,
            stop_time,
            forwarded_for: match self.x_forwarded_for {
                XForwardedFor::Preserve => ForwardedFor::Preserve,
                XForwardedFor::Append => ForwardedFor::Append,
            },
            ..ProxyLimits::default()
        }
    }
}

fn count(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number from 1 to 1000000"))
}

fn bytes(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1024..=1 << 20).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a number of bytes from 1024 to 1048576"))
}
