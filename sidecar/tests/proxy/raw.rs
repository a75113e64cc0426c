//! A client, or an application's side, that writes and reads bytes.
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Far longer than anything here takes; only a hang comes to it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A connection and what was read ahead.
pub(crate) struct Raw {
    pub(crate) stream: TcpStream,
    ahead: Vec<u8>,
}

impl Raw {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self { stream, ahead: Vec::new() }
    }

    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).await.unwrap())
    }

    pub(crate) async fn write(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).await.unwrap();
    }

    async fn more(&mut self) -> std::io::Result<usize> {
        timeout(PATIENCE, self.stream.read_buf(&mut self.ahead)).await.expect("the other side says nothing")
    }

    /// Up to and including `end`.
    pub(crate) async fn read_until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.ahead.windows(end.len()).position(|window| window == end.as_bytes()) {
                let rest = self.ahead.split_off(at + end.len());
                return String::from_utf8(std::mem::replace(&mut self.ahead, rest)).unwrap();
            }
            let read = self.more().await.unwrap();
            assert!(read > 0, "closed after {:?}, before {end:?}", String::from_utf8_lossy(&self.ahead));
        }
    }

    /// A head of a message.
    pub(crate) async fn read_head(&mut self) -> String {
        self.read_until("\r\n\r\n").await
    }

    /// Exactly so many bytes.
    pub(crate) async fn read_exact(&mut self, length: usize) -> Vec<u8> {
        while self.ahead.len() < length {
            assert!(self.more().await.unwrap() > 0, "closed early, after {:?}", String::from_utf8_lossy(&self.ahead));
        }
        let rest = self.ahead.split_off(length);
        std::mem::replace(&mut self.ahead, rest)
    }

    /// A message with a Content-Length.
    pub(crate) async fn read_message(&mut self) -> (String, String) {
        let head = self.read_head().await;
        let length = header(&head, "content-length").map_or(0, |value| value.parse().unwrap());
        let body = self.read_exact(length).await;
        (head, String::from_utf8(body).unwrap())
    }

    /// Everything up to the end, which must come as an end and not as a reset.
    pub(crate) async fn read_to_end(&mut self) -> String {
        while self.more().await.unwrap() > 0 {}
        String::from_utf8(std::mem::take(&mut self.ahead)).unwrap()
    }

    /// Waits until the other side is gone, in whatever way; what it still said is dropped.
    pub(crate) async fn gone(&mut self) {
        while matches!(self.more().await, Ok(read) if read > 0) {}
    }

    pub(crate) async fn half_close(&mut self) {
        self.stream.shutdown().await.unwrap();
    }
}

/// One header's value in a head, whatever its case.
pub(crate) fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    head.lines().skip(1).find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The status in a head.
pub(crate) fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_else(|_| panic!("no status in {head:?}"))
}

/// Sends bytes on a connection of their own and reads all that comes back.
pub(crate) async fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut raw = Raw::connect(address).await;
    raw.write(bytes).await;
    raw.read_to_end().await
}
