//! Addresses as they are written in flags: `--listen`, `--upstream`, `--route LISTEN=UPSTREAM`, ports.
use std::net::{IpAddr, SocketAddr};

/// Where a route's requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// The destination that each connection had before the capture rules turned it here.
    Original,
    /// Always this one: an address, or a name that is looked up at each connect.
    Fixed {
        /// Host name or IP address, without brackets.
        host: String,
        /// TCP port, 1 to 65535.
        port: u16,
    },
}

/// One listener and where its requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// Where to.
    pub destination: Destination,
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Original => f.write_str("original"),
            Self::Fixed { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Fixed { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

/// An address to listen on, such as `127.0.0.1:8080`.
///
/// # Errors
/// When it isn't an IP address and a port.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    match text.rsplit_once(':') {
        Some(("localhost", port)) if port.parse::<u16>().is_ok() => {
            Err(format!("`{text}` has a name; an address to listen on is numeric, as 127.0.0.1:{port}"))
        }
        _ if text.parse::<u16>().is_ok() => {
            Err(format!("`{text}` has no address; write 127.0.0.1:{text} or 0.0.0.0:{text}"))
        }
        _ if text.parse::<IpAddr>().is_ok() => {
            Err(format!("`{text}` has no port; write it as 127.0.0.1:8080 or [::1]:8080"))
        }
        _ => Err(format!("`{text}` is not IP:PORT; write it as 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080")),
    }
}

/// An address that only this machine (in Kubernetes: this pod) can reach.
///
/// # Errors
/// When it isn't one.
pub fn local_address(text: &str) -> Result<SocketAddr, String> {
    let parsed = address(text)?;
    if parsed.ip().is_loopback() {
        return Ok(parsed);
    }
    Err(format!(
        "`{text}` can be reached from other machines, and this interface changes the sidecar without a password; write 127.0.0.1:{}",
        parsed.port()
    ))
}

/// A TCP port, 1 to 65535.
///
/// # Errors
/// When it isn't one.
pub fn port(text: &str) -> Result<u16, String> {
    match text.trim().parse() {
        Ok(0) | Err(_) => Err(format!("`{text}` is not a port; write numbers from 1 to 65535, several as 8080,9000")),
        Ok(port) => Ok(port),
    }
}

/// Where requests go: `original`, `127.0.0.1:9000`, `app:9000`. An IPv6 address may stand without brackets, since
/// Kubernetes fills in a pod's address that way.
///
/// # Errors
/// When it is none of these.
pub fn destination(text: &str) -> Result<Destination, String> {
    if text == "original" {
        return Ok(Destination::Original);
    }
    let wrong = |why: &str| format!("`{text}` {why}; write HOST:PORT, as 127.0.0.1:9000 or app:9000, or `original`");
    if text.contains("://") || text.contains('/') {
        return Err(wrong("is a URL"));
    }
    let Some((host, port)) = text.rsplit_once(':') else { return Err(wrong("has no port")) };
    let port = match port.parse() {
        Ok(0) | Err(_) => return Err(wrong("has no port from 1 to 65535")),
        Ok(port) => port,
    };
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    let is_name = |name: &str| {
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
    };
    if bare.parse::<IpAddr>().is_ok() || is_name(host) {
        return Ok(Destination::Fixed { host: bare.to_owned(), port });
    }
    Err(wrong("has no host name or IP address"))
}

/// `LISTEN=UPSTREAM`.
///
/// # Errors
/// When a side is missing or wrong.
pub fn route(text: &str) -> Result<Route, String> {
    let Some((listen, upstream)) = text.split_once('=') else {
        return Err(format!(
            "`{text}` is not LISTEN=UPSTREAM; write it as 0.0.0.0:8080=127.0.0.1:9000 or 0.0.0.0:15001=original"
        ));
    };
    Ok(Route { listen: address(listen)?, destination: destination(upstream)? })
}
