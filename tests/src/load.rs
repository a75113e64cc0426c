//! A client that sends a counted number of requests and tells what came back. It stops by itself, always: the number of
//! requests or the time runs out.
use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// What to send.
#[derive(Clone, Debug)]
pub struct Load {
    /// `http://host[:port]/path`; the host is resolved for each connection.
    pub url: Uri,
    /// Method of every request.
    pub method: Method,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// How many requests in all.
    pub requests: u64,
    /// Over how many connections at once, each kept alive.
    pub connections: u64,
    /// Pause of each connection after a response.
    pub pause: Duration,
    /// Stop after this, whatever is left.
    pub at_most: Duration,
}

/// What came back.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests that got no response, by what went wrong.
    pub failures: BTreeMap<String, u64>,
    /// The first response of each status: its headers and body.
    pub first: BTreeMap<u16, Sample>,
    /// `X-RateLimit-Remaining` of the admitted responses, in the order they arrived.
    pub remaining: Vec<u64>,
    /// Microseconds from the first request to the last response.
    pub micros: u64,
}

/// One response as a person would look at it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// `name: value` in the order received.
    pub headers: Vec<String>,
    /// The body as text.
    pub body: String,
}

impl Report {
    /// Responses with this status.
    #[must_use]
    pub fn count(&self, status: u16) -> u64 {
        self.statuses.get(&status).copied().unwrap_or(0)
    }

    /// Requests that got no response at all.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    fn merge(&mut self, other: Report) {
        for (status, n) in other.statuses {
            *self.statuses.entry(status).or_default() += n;
        }
        for (reason, n) in other.failures {
            *self.failures.entry(reason).or_default() += n;
        }
        for (status, sample) in other.first {
            self.first.entry(status).or_insert(sample);
        }
        self.remaining.extend(other.remaining);
    }

    fn record(&mut self, status: StatusCode, headers: &HeaderMap, body: &Bytes) {
        *self.statuses.entry(status.as_u16()).or_default() += 1;
        if let Some(left) =
            headers.get("x-ratelimit-remaining").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok())
            && status.is_success()
        {
            self.remaining.push(left);
        }
        self.first.entry(status.as_u16()).or_insert_with(|| Sample {
            headers: headers.iter().map(|(n, v)| format!("{n}: {}", String::from_utf8_lossy(v.as_bytes()))).collect(),
            body: String::from_utf8_lossy(body).into_owned(),
        });
    }
}

/// Sends it all and waits for the end; an interrupt (SIGINT) ends it early, after the requests on their way.
pub async fn run(load: Load) -> Report {
    let started = Instant::now();
    let load = Arc::new(load);
    let left = Arc::new(AtomicU64::new(load.requests));
    let none_left = left.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            none_left.store(0, Ordering::Relaxed);
        }
    });
    let clients: Vec<_> =
        (0..load.connections.max(1)).map(|_| tokio::spawn(client(load.clone(), left.clone(), started))).collect();
    let mut report = Report::default();
    for client in clients {
        match client.await {
            Ok(part) => report.merge(part),
            Err(broken) => *report.failures.entry(broken.to_string()).or_default() += 1,
        }
    }
    report.micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
    report
}

async fn client(load: Arc<Load>, left: Arc<AtomicU64>, started: Instant) -> Report {
    let mut report = Report::default();
    let mut connection: Connection = None;
    while started.elapsed() < load.at_most
        && left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok()
    {
        match exchange(&load, &mut connection).await {
            Ok((status, headers, body)) => report.record(status, &headers, &body),
            Err(reason) => {
                connection = None;
                *report.failures.entry(reason).or_default() += 1;
            }
        }
        if !load.pause.is_zero() {
            tokio::time::sleep(load.pause).await;
        }
    }
    report
}

/// A connection that may be kept between two exchanges.
pub(crate) type Connection = Option<http1::SendRequest<Empty<Bytes>>>;

/// One request and its whole response, over the kept connection where it is still usable.
pub(crate) async fn exchange(
    load: &Load,
    connection: &mut Connection,
) -> Result<(StatusCode, HeaderMap, Bytes), String> {
    // A server may close a kept-alive connection after any response: then a client connects anew, which is no failure.
    let mut kept = connection.take();
    let usable = match &mut kept {
        Some(open) => open.ready().await.is_ok(),
        None => false,
    };
    let mut sender = match kept {
        Some(open) if usable => open,
        _ => connect(&load.url).await?,
    };
    let path = load.url.path_and_query().map_or("/", |p| p.as_str());
    let mut request = Request::new(Empty::new());
    *request.method_mut() = load.method.clone();
    *request.uri_mut() = path.parse().map_err(|e| format!("target: {e}"))?;
    *request.headers_mut() = load.headers.clone();
    if let Some(authority) = load.url.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().entry("host").or_insert(host);
    }
    let response = sender.send_request(request).await.map_err(|e| format!("request: {e}"))?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(|e| format!("body: {e}"))?.to_bytes();
    let closes = parts.headers.get("connection").is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"close"));
    *connection = (!closes).then_some(sender);
    Ok((parts.status, parts.headers, body))
}

async fn connect(url: &Uri) -> Result<http1::SendRequest<Empty<Bytes>>, String> {
    let host = url.host().ok_or("the URL has no host; write http://host:port/path")?.trim_matches(['[', ']']);
    let socket = TcpStream::connect((host, url.port_u16().unwrap_or(80))).await.map_err(|e| format!("connect: {e}"))?;
    let _ = socket.set_nodelay(true);
    let (sender, driver) = http1::handshake(TokioIo::new(socket)).await.map_err(|e| format!("handshake: {e}"))?;
    tokio::spawn(driver);
    Ok(sender)
}

/// `name: value` as curl takes it.
///
/// # Errors
/// When it isn't of that form.
pub fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) =
        text.split_once(':').ok_or_else(|| format!("\"{text}\" is no header; write \"name: value\""))?;
    let name = name.trim().parse().map_err(|e| format!("\"{name}\" is no header name: {e}"))?;
    let value = value.trim().parse().map_err(|e| format!("\"{value}\" is no header value: {e}"))?;
    Ok((name, value))
}
