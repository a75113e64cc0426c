//! A client that asks over real connections.
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{HeaderMap, Method, Request};
use hyper_util::rt::TokioIo;
use std::net::{Ipv4Addr, SocketAddr};
use tokio::net::{TcpSocket, TcpStream};

/// A whole response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    /// A header's text, `None` when it isn't there.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// A header's number.
    pub(crate) fn number(&self, name: &str) -> u64 {
        self.header(name).unwrap_or_else(|| panic!("no {name} in {self:?}")).parse().unwrap()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).unwrap()
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

/// One connection that is kept as long as both sides want.
pub(crate) struct Connection {
    /// The client's own, port 0; `None` takes any.
    source: Option<SocketAddr>,
    address: SocketAddr,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Connection {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self { source: None, address, sender: None }
    }

    /// From an address of this machine, such as 127.0.0.2.
    pub(crate) fn from(source: Ipv4Addr, address: SocketAddr) -> Self {
        Self { source: Some((source, 0).into()), address, sender: None }
    }

    async fn connect(&self) -> std::io::Result<TcpStream> {
        let Some(source) = self.source else { return TcpStream::connect(self.address).await };
        let socket = TcpSocket::new_v4()?;
        socket.bind(source)?;
        socket.connect(self.address).await
    }

    /// Sends and reads; connects anew when the connection was closed after an earlier response, as every client does.
    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Answer, String> {
        let mut sender = match self.sender.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => {
                let stream = self.connect().await.map_err(|error| format!("connect: {error}"))?;
                let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
                tokio::spawn(connection);
                sender
            }
        };
        sender.ready().await.map_err(|error| format!("ready: {error}"))?;
        let response = sender.send_request(request).await.map_err(|error| format!("{error}: {error:?}"))?;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map_err(|error| format!("body: {error}"))?.to_bytes();
        let closing = parts.headers.get("connection").is_some_and(|value| value == "close");
        self.sender = (!closing).then_some(sender);
        Ok(Answer { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    pub(crate) async fn post(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
        self.send(request(Method::POST, self.address, path, headers, "")).await
    }

    pub(crate) async fn get(&mut self, path: &str, headers: &[(&str, &str)]) -> Result<Answer, String> {
        self.send(request(Method::GET, self.address, path, headers, "")).await
    }
}

pub(crate) fn request(
    method: Method,
    to: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &'static str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path).header("host", to.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body)).unwrap()
}

/// One GET on a connection of its own.
pub(crate) async fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Answer {
    Connection::to(address).get(path, headers).await.unwrap()
}

/// One request of any method on a connection of its own.
pub(crate) async fn ask(
    method: Method,
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: &'static str,
) -> Answer {
    Connection::to(address).send(request(method, address, path, headers, body)).await.unwrap()
}

/// The bytes that come back for `request`, until the other side closes.
pub(crate) async fn raw(address: SocketAddr, request: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}
