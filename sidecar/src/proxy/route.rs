//! Where a listener's connections go.
use socket2::SockRef;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// What stands behind a listener.
#[derive(Clone, Debug)]
pub enum Upstream {
    /// Always this one. `tls`: its connections speak TLS and pass as they are.
    Fixed {
        /// Where.
        target: Target,
        /// Whether it speaks TLS.
        tls: bool,
    },
    /// The destination each connection had before it was turned here by capture rules.
    Original {
        /// The only ports taken; of all others connections are reset.
        captured: Arc<[u16]>,
        /// Those of them that speak TLS.
        tls: Arc<[u16]>,
    },
}

/// An address to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A socket address.
    Address(SocketAddr),
    /// A name, looked up at each connect, and a port.
    Name(Arc<str>, u16),
}

/// Where one connection goes.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    /// Where.
    pub(crate) target: Target,
    /// Whether it passes as it is.
    pub(crate) tls: bool,
}

impl Upstream {
    /// Where this accepted connection goes; `None` when it must not go anywhere: its destination is ourselves, or a port
    /// that is not captured.
    #[must_use]
    pub(crate) fn destination(&self, client: &TcpStream) -> Option<Destination> {
        match self {
            Self::Fixed { target, tls } => Some(Destination { target: target.clone(), tls: *tls }),
            Self::Original { captured, tls } => {
                let local = client.local_addr().ok()?;
                let original = original(client, local)?;
                // a connection that was not redirected names the listener itself, and to dial it would never end
                let ours = original.port() == local.port();
                if ours || !captured.contains(&original.port()) {
                    return None;
                }
                Some(Destination { target: Target::Address(original), tls: tls.contains(&original.port()) })
            }
        }
    }
}

fn original(client: &TcpStream, local: SocketAddr) -> Option<SocketAddr> {
    let socket = SockRef::from(client);
    // on a dual-stack listener an IPv4 client looks like IPv6, and has its destination in the other table
    let original = match local.ip().to_canonical() {
        std::net::IpAddr::V4(_) => socket.original_dst_v4(),
        std::net::IpAddr::V6(_) => socket.original_dst_v6(),
    };
    original.ok()?.as_socket()
}

impl Target {
    /// Connects.
    ///
    /// # Errors
    /// When the name has no address, none of its addresses answers, or time is over.
    pub(crate) async fn connect(&self, time: Duration) -> io::Result<TcpStream> {
        let connect = async {
            match self {
                Self::Address(address) => TcpStream::connect(address).await,
                Self::Name(host, port) => TcpStream::connect((&**host, *port)).await,
            }
        };
        let stream = tokio::time::timeout(time, connect).await.map_err(|_| io::ErrorKind::TimedOut)??;
        prepare(&stream);
        Ok(stream)
    }
}

/// Options of every connection: small writes go out at once, and a peer that vanished is noticed.
pub(super) fn prepare(stream: &TcpStream) {
    // a connection that is being closed refuses options; it will be noticed when it is read
    let _ = stream.set_nodelay(true);
    let keepalive =
        socket2::TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(10));
    let _ = SockRef::from(stream).set_tcp_keepalive(&keepalive);
}

/// Closes with a reset, as a port where nobody listens would.
pub(super) fn reset(stream: TcpStream) {
    let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
    drop(stream);
}
