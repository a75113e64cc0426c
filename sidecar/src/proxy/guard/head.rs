//! One HTTP/1 request head that has exactly one reading (RFC 9112), or why not. Stricter than the parser behind it on
//! purpose: whatever two servers could read differently is a way around limits or into another's connection.
use super::{Framing, Rejection};
use crate::proxy::limits::FIELDS;
use std::mem::MaybeUninit;

/// What the guard needs to know of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// How the body is framed; `Length(0)` without one.
    pub(crate) framing: Framing,
    /// What follows may be a tunnel, not a request.
    pub(crate) may_upgrade: bool,
}

/// Bounds of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeadLimits {
    /// Bytes from the first of the method to the last of the empty line.
    pub(crate) head_bytes: usize,
    /// Bytes of the target.
    pub(crate) target_bytes: usize,
}

use Rejection::Malformed;

/// Reads a whole head, from its first byte to the end of its empty line.
///
/// # Errors
/// When it has no reading, more than one, or is too large.
pub(crate) fn read(bytes: &[u8], limits: &HeadLimits) -> Result<Head, Rejection> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(bytes, &mut fields) {
        Ok(httparse::Status::Complete(length)) if length == bytes.len() => {}
        Ok(_) => return Err(Malformed("the request head ends early")),
        Err(error) => return Err(syntax(error)),
    }
    let (Some(method), Some(path), Some(minor)) = (request.method, request.path, request.version) else {
        return Err(Malformed("the request line is incomplete"));
    };
    if path.len() > limits.target_bytes {
        return Err(Rejection::TargetTooLong);
    }
    target(method, path)?;
    let (mut host, mut length, mut chunked, mut upgrade) = (None, None, false, false);
    for field in request.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        if is("host") {
            if host.replace(field.value).is_some() {
                return Err(Malformed("there are two Host fields"));
            }
        } else if is("content-length") {
            if length.replace(content_length(field.value)?).is_some() {
                return Err(Malformed("there are two Content-Length fields"));
            }
        } else if is("transfer-encoding") {
            if chunked || !field.value.eq_ignore_ascii_case(b"chunked") {
                return Err(Malformed("Transfer-Encoding is not exactly `chunked`"));
            }
            chunked = true;
        } else if is("upgrade") {
            upgrade = true;
        }
    }
    match host {
        None if minor == 1 => return Err(Malformed("the Host field is missing")),
        Some(value) if !is_authority(value) => return Err(Malformed("the Host field is not a host")),
        _ => {}
    }
    let connect = method == "CONNECT";
    let framing = match (chunked, length) {
        (true, Some(_)) => return Err(Malformed("both Content-Length and Transfer-Encoding are given")),
        (true, None) if minor == 0 => return Err(Malformed("HTTP/1.0 has no Transfer-Encoding")),
        (true, None) => Framing::CHUNKED,
        (false, length) => Framing::Length(length.unwrap_or(0)),
    };
    if connect && (chunked || length.is_some()) {
        return Err(Malformed("CONNECT has no body"));
    }
    Ok(Head { framing, may_upgrade: connect || (upgrade && minor == 1) })
}

/// Whether the start of a head can still become one. For the time before the head is complete, so that a client which
/// speaks something else is told so at once.
///
/// # Errors
/// When it can't.
pub(crate) fn could_become(bytes: &[u8]) -> Result<(), Rejection> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    match httparse::Request::new(&mut []).parse_with_uninit_headers(bytes, &mut fields) {
        Ok(_) => Ok(()),
        Err(error) => Err(syntax(error)),
    }
}

fn syntax(error: httparse::Error) -> Rejection {
    match error {
        httparse::Error::TooManyHeaders => Rejection::HeadTooLarge,
        httparse::Error::Version => Malformed("this is not HTTP/1.0 or HTTP/1.1"),
        httparse::Error::Token | httparse::Error::Status | httparse::Error::NewLine => {
            Malformed("this is not an HTTP request")
        }
        httparse::Error::HeaderName => Malformed("a header field's name is invalid"),
        httparse::Error::HeaderValue => Malformed("a header field's value is invalid"),
    }
}

/// The four forms of RFC 9112 §3.2, and only bytes that are forwarded as they came.
fn target(method: &str, target: &str) -> Result<(), Rejection> {
    if method == "CONNECT" {
        let port = target.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
        return match port {
            Some(Ok(_)) if is_authority(target.as_bytes()) => Ok(()),
            _ => Err(Malformed("the target of CONNECT is not HOST:PORT")),
        };
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, query),
        None => (target, ""),
    };
    let high = |byte: u8| byte >= 0x80;
    let in_path = |byte: u8| matches!(byte, 0x21 | 0x22 | 0x24..=0x3b | 0x3d | 0x40..=0x5f | 0x61..=0x7e) || high(byte);
    let in_query = |byte: u8| matches!(byte, 0x21 | 0x24..=0x3b | 0x3d | 0x3f..=0x7e) || high(byte);
    if !path.bytes().all(in_path) || !query.bytes().all(in_query) {
        return Err(Malformed("the request target has a character that must be percent-encoded"));
    }
    let first = target.as_bytes().first();
    let wrong = Malformed("the request target is neither a path nor a URL");
    match first {
        Some(b'/') => Ok(()),
        Some(b'*') if target == "*" && method == "OPTIONS" => Ok(()),
        _ => {
            let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("https://")).ok_or(wrong)?;
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            if authority.is_empty() || !is_authority(authority.as_bytes()) {
                return Err(wrong);
            }
            Ok(())
        }
    }
}

/// Digits only, that fit.
fn content_length(value: &[u8]) -> Result<u64, Rejection> {
    let wrong = Malformed("Content-Length is not a number");
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(wrong);
    }
    std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()).ok_or(wrong)
}

/// A host and perhaps a port, without user info; the empty value is allowed (RFC 9112 §3.2).
fn is_authority(value: &[u8]) -> bool {
    value.iter().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'.' | b'-'
                    | b':'
                    | b'_'
                    | b'~'
                    | b'%'
                    | b'['
                    | b']'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b';'
                    | b'='
            )
    })
}
