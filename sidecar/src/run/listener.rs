//! Opening the sockets that clients connect to.
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use tokio::net::TcpListener;

/// Connections that wait to be accepted; the kernel may hold fewer.
const BACKLOG: i32 = 1024;

/// An address that can't be listened on.
#[derive(Debug, thiserror::Error)]
#[error("can't listen on {address}: {error}{hint}")]
pub(super) struct NotListening {
    address: SocketAddr,
    error: io::Error,
    hint: &'static str,
}

/// Listens on `address`. `0.0.0.0` stands for every address: the capture rules bring connections of both families, so IPv6
/// is listened on too, where this machine has it.
///
/// # Errors
/// When the address is taken, not this machine's, or not for this user.
pub(super) fn open(address: SocketAddr) -> Result<Vec<TcpListener>, NotListening> {
    let failed = |error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => "; another program has it, choose another port",
            io::ErrorKind::AddrNotAvailable => "; this machine does not have that address, try 127.0.0.1 or 0.0.0.0",
            io::ErrorKind::PermissionDenied => "; ports below 1024 are root's, choose a higher one",
            _ => "",
        };
        NotListening { address, error, hint }
    };
    let first = listen(address).map_err(failed)?;
    let mut listeners = vec![first];
    if address.ip() == IpAddr::V4(Ipv4Addr::UNSPECIFIED) {
        let port = listeners[0].local_addr().map_err(failed)?.port();
        match listen(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port))) {
            Ok(second) => listeners.push(second),
            Err(error) => tracing::debug!(port, %error, "not listening on IPv6"),
        }
    }
    Ok(listeners)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // after a restart connections of the last process still linger on the port
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // what comes by IPv4 has a socket of its own, or its original destination could not be asked for
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}
