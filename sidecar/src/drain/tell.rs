//! `weir-sidecar drain`: tells the sidecar of this pod to start draining. Two packets and no runtime: a preStop hook holds
//! the pod up for as long as it runs.
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than a loopback connection ever takes, and short beside a pod's grace period.
const AT_MOST: Duration = Duration::from_secs(2);

/// The sidecar could not be told.
#[derive(Debug, thiserror::Error)]
pub enum NotTold {
    /// Nobody answers there.
    #[error("no sidecar answers at {address} ({error}); name its --admin-local address")]
    NoSidecar {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// Something else answers there.
    #[error("what answers at {address} is not a sidecar's --admin-local: {answer}")]
    SomethingElse {
        /// Where.
        address: SocketAddr,
        /// The first line of its answer.
        answer: String,
    },
}

/// Returns as soon as the sidecar has heard it.
///
/// # Errors
/// When it hasn't.
pub fn tell(address: SocketAddr) -> Result<(), NotTold> {
    let answer = ask(address).map_err(|error| NotTold::NoSidecar { address, error })?;
    let first = answer.lines().next().unwrap_or_default();
    if first.split(' ').nth(1) == Some("202") {
        return Ok(());
    }
    Err(NotTold::SomethingElse { address, answer: first.to_owned() })
}

fn ask(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, AT_MOST)?;
    stream.set_read_timeout(Some(AT_MOST))?;
    stream.set_write_timeout(Some(AT_MOST))?;
    write!(stream, "POST /drain HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
