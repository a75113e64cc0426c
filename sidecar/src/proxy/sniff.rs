//! What a new connection speaks, by its first bytes. Only as many are read as it takes to tell.
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// The start of every HTTP/2 connection (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The first byte of a TLS handshake record, which no HTTP method begins with.
const TLS_HANDSHAKE: u8 = 0x16;

/// What a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spoken {
    /// HTTP/1, or something that will turn out not to be it.
    Http1,
    /// HTTP/2 with prior knowledge.
    Http2,
    /// TLS.
    Tls,
    /// Nothing: closed before the first byte.
    Nothing,
}

/// The first bytes of a connection, which are still to be looked at by whoever serves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    bytes: [u8; 24],
    length: usize,
}

impl Prefix {
    /// What was read.
    #[must_use]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Reads until it can tell.
///
/// # Errors
/// When reading fails.
pub(crate) async fn sniff(io: &mut (impl AsyncRead + Unpin)) -> io::Result<(Spoken, Prefix)> {
    let mut prefix = Prefix { bytes: [0; 24], length: 0 };
    loop {
        let read = io.read(&mut prefix.bytes[prefix.length..]).await?;
        prefix.length += read;
        let seen = prefix.bytes();
        let spoken = match seen.first() {
            None => Spoken::Nothing,
            Some(&TLS_HANDSHAKE) => Spoken::Tls,
            _ if !PREFACE.starts_with(seen) || read == 0 => Spoken::Http1,
            _ if seen.len() == PREFACE.len() => Spoken::Http2,
            _ => continue,
        };
        return Ok((spoken, prefix));
    }
}
