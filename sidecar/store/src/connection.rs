//! One connection to one Redis server: name, TCP, TLS, AUTH, SELECT, PING, then one command after the other.
//!
//! The client library's own driver is polled inside each call, by the same task: no hop to another task, and
//! a connection that is dropped takes everything that was queued in it along. Waits are bounded by the caller.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, RedisError, Value, cmd};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use crate::credentials::Target;
use crate::reason::{Reason, StoreError};
use crate::tls;

/// After this long without an acknowledgement the kernel gives the connection up.
const USER_TIMEOUT: Duration = Duration::from_secs(1);

/// A connection that answered a PING.
pub(crate) struct Connection {
    redis: MultiplexedConnection,
    driver: Pin<Box<dyn Future<Output = ()> + Send>>,
    closed: bool,
}

impl Connection {
    /// Resolves, connects, authenticates and pings.
    pub(crate) async fn open(target: &Target) -> Result<Self, StoreError> {
        let tcp = dial(target).await?;
        let mut connection = if target.endpoint.tls {
            Self::over(tls::connect(target, tcp).await?).await?
        } else {
            Self::over(tcp).await?
        };
        let endpoint = &target.endpoint;
        if let Some(password) = &endpoint.password {
            let mut auth = cmd("AUTH");
            if let Some(user) = &endpoint.user {
                auth.arg(user);
            }
            connection.ask(auth.arg(password)).await.map_err(|error| without(error, password))?;
        }
        if endpoint.db != 0 {
            connection.ask(cmd("SELECT").arg(endpoint.db)).await?;
        }
        connection.ask(&cmd("PING")).await?;
        Ok(connection)
    }

    /// Sends a command and awaits its answer; an error answer is an error. Not to be used again after an error
    /// for which [`Connection::is_closed`] holds, nor after this future was dropped half way.
    pub(crate) async fn ask(&mut self, command: &Cmd) -> Result<Value, StoreError> {
        let answer = {
            let mut answer = std::pin::pin!(self.redis.send_packed_command(command));
            tokio::select! {
                biased;
                answer = &mut answer => answer,
                () = &mut self.driver => {
                    // dropping the driver settles the command, with the answer if it came before the end
                    self.driver = Box::pin(std::future::pending());
                    self.closed = true;
                    answer.await
                }
            }
        };
        match answer {
            Ok(Value::ServerError(error)) => Err(server_error(error.code(), error.details().unwrap_or_default())),
            Ok(value) => Ok(value),
            Err(error) => {
                self.closed |= error.code().is_none();
                Err(client_error(&error))
            }
        }
    }

    /// Whether the connection is beyond use.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Ends when the other side hangs up while no command is out.
    pub(crate) async fn hung_up(&mut self) {
        if !self.closed {
            self.driver.as_mut().await;
            self.driver = Box::pin(std::future::pending());
            self.closed = true;
        }
    }

    async fn over<S>(stream: S) -> Result<Self, StoreError>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
    {
        // no user, password or database here: set up by our own commands, whose errors keep their names
        let info = RedisConnectionInfo::default().set_skip_set_lib_name();
        let config = AsyncConnectionConfig::new().set_response_timeout(None);
        let made = MultiplexedConnection::new_with_config(&info, stream, config).await;
        let (redis, driver) = made.map_err(|error| client_error(&error))?;
        Ok(Self { redis, driver: Box::pin(driver), closed: false })
    }
}

/// A look-up can't be broken off and may take a minute when the name server is silent, while the next attempt to connect
/// comes in half a second: without a bound they would take all threads, those that read policies included.
static LOOK_UPS: Semaphore = Semaphore::const_new(2);

async fn look_up(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    // never closed
    let permit = LOOK_UPS.acquire().await.map_err(io::Error::other)?;
    let looking = tokio::task::spawn_blocking(move || {
        let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
        drop(permit);
        addresses
    });
    looking.await.map_err(io::Error::other)?
}

/// Tries each address that the name has now.
async fn dial(target: &Target) -> Result<TcpStream, StoreError> {
    let endpoint = &target.endpoint;
    let unreachable = |error: &io::Error| StoreError::new(Reason::Unreachable, format!("{endpoint}: {error}"));
    let addresses = look_up(endpoint.host.clone(), endpoint.port).await.map_err(|error| unreachable(&error))?;
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                let socket = socket2::SockRef::from(&stream);
                let set = socket.set_tcp_nodelay(true).and_then(|()| socket.set_tcp_user_timeout(Some(USER_TIMEOUT)));
                set.map_err(|error| unreachable(&error))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(unreachable(&last))
}

/// A server that does not know AUTH repeats what it was given, and errors are logged.
fn without(error: StoreError, password: &str) -> StoreError {
    let Some(detail) = error.detail() else { return error };
    // Redis cuts long arguments, so a long password would not be found as a whole
    let told = detail.split("with args beginning with").next().unwrap_or_default();
    StoreError::new(error.kind(), told.replace(password, "…"))
}

fn server_error(code: &str, text: &str) -> StoreError {
    StoreError::new(Reason::of_server_error(code, text), format!("{code} {text}"))
}

fn client_error(error: &RedisError) -> StoreError {
    match error.code() {
        Some(code) => server_error(code, error.detail().unwrap_or_default()),
        None if error.is_io_error() => StoreError::new(Reason::Unreachable, error.to_string()),
        None => StoreError::new(Reason::Protocol, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
    use crate::address::Endpoint;
    use crate::key::InstallKey;

    #[tokio::test]
    async fn a_look_up_waits_for_those_that_hang() {
        let hanging = LOOK_UPS.acquire_many(2).await.unwrap();
        let mut next = std::pin::pin!(look_up("localhost".to_owned(), 1));
        let early = tokio::time::timeout(Duration::from_millis(50), &mut next).await;
        assert!(early.is_err());
        drop(hanging);
        assert!(next.await.unwrap().iter().all(|address| address.ip().is_loopback()));
    }

    #[tokio::test]
    async fn a_password_that_a_server_repeats_is_not_told_on() {
        let long = "hunter2".repeat(40);
        for (password, answer) in [
            ("hunter2", "-ERR unknown command 'AUTH', with args beginning with: 'me' 'hunter2' \r\n".to_owned()),
            (
                long.as_str(),
                format!("-ERR unknown command `AUTH`, with args beginning with: `me`, `{}\r\n", &long[..128]),
            ),
            ("hunter2", "-ERR user me has no password hunter2\r\n".to_owned()),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let (user, password) = (Some("me".to_owned()), Some(password.to_owned()));
            let endpoint = Endpoint { host: "127.0.0.1".to_owned(), port, tls: false, db: 0, user, password };
            let target = Target { endpoint, ca: None, install_key: InstallKey::ZEROS };
            let server = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                assert!(stream.read_u8().await.is_ok());
                stream.write_all(answer.as_bytes()).await.unwrap();
                stream
            };
            let (opened, _stream) = tokio::join!(Connection::open(&target), server);
            let error = opened.err().unwrap();
            assert_eq!(error.kind(), Reason::Server);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
