//! The application's own probes, run in its place: the kubelet asks the sidecar's admin port, which asks the application
//! exactly what its pod template says. Nothing of the caller is forwarded, and only the verdict goes back.
mod ask;
#[cfg(test)]
mod tests;

use crate::clock;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long one verdict answers further callers, so that nobody can use probes to burden the application.
const REUSE: Duration = Duration::from_millis(500);

/// All recorded probes, by container and kind.
#[derive(Debug, Default)]
pub struct Probes(BTreeMap<(String, String), Probe>);

#[derive(Debug)]
struct Probe {
    question: Question,
    timeout: Duration,
    /// Held while one runs, so the others wait for its verdict instead of asking too.
    last: Mutex<Option<(Instant, StatusCode)>>,
}

#[derive(Debug)]
enum Question {
    Http { port: u16, target: http::Uri, headers: HeaderMap },
    Tcp { port: u16 },
}

/// The probes can't be read.
#[derive(Debug, thiserror::Error)]
#[error("probes: {0}")]
pub struct InvalidProbes(String);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawProbe {
    container: String,
    kind: String,
    http: Option<RawHttp>,
    tcp: Option<RawTcp>,
    #[serde(default = "one")]
    timeout_seconds: u32,
}

/// A pod's `httpGet`. What a later Kubernetes may add to it is left out rather than refused: the pod must start.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawHttp {
    port: serde_json::Value,
    #[serde(default)]
    path: String,
    #[serde(default)]
    scheme: Option<String>,
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    http_headers: Vec<RawHeader>,
}

#[derive(Deserialize)]
struct RawHeader {
    name: String,
    #[serde(default)]
    value: String,
}

/// A pod's `tcpSocket`.
#[derive(Deserialize)]
struct RawTcp {
    port: serde_json::Value,
}

fn one() -> u32 {
    1
}

impl Probes {
    /// Reads the list that the injector wrote: `[{"container", "kind", "http" or "tcp", "timeoutSeconds"}]`.
    ///
    /// # Errors
    /// When it isn't such a list; named are the container and the kind.
    pub fn parse(json: &str) -> Result<Self, InvalidProbes> {
        let raw: Vec<RawProbe> = serde_json::from_str(json).map_err(|error| {
            InvalidProbes(format!(
                "{error}; write [{{\"container\":\"app\",\"kind\":\"readiness\",\"http\":{{\"port\":8080}}}}]"
            ))
        })?;
        let mut probes = BTreeMap::new();
        for probe in raw {
            let name = format!("{}/{}", probe.container, probe.kind);
            let wrong = |why: String| InvalidProbes(format!("{name}: {why}"));
            let question = match (probe.http, probe.tcp) {
                (Some(http), None) => http_question(http).map_err(wrong)?,
                (None, Some(tcp)) => Question::Tcp { port: port(&tcp.port).map_err(wrong)? },
                _ => return Err(wrong("has to have exactly one of http and tcp".into())),
            };
            let timeout = Duration::from_secs(u64::from(probe.timeout_seconds.max(1)));
            let probe_key = (probe.container, probe.kind);
            if probes.insert(probe_key, Probe { question, timeout, last: Mutex::new(None) }).is_some() {
                return Err(InvalidProbes(format!("{name}: is there twice")));
            }
        }
        Ok(Self(probes))
    }

    /// Runs the probe of this container and kind against the application at `ip`, or reuses a verdict younger than 500 ms.
    /// `None` when no such probe was recorded; 502 when the application can't be reached, 504 when it is silent.
    pub async fn verdict(&self, container: &str, kind: &str, ip: IpAddr) -> Option<StatusCode> {
        let probe = self.0.get(&(container.to_owned(), kind.to_owned()))?;
        let mut last = probe.last.lock().await;
        if let Some((at, verdict)) = *last
            && clock::now().duration_since(at) < REUSE
        {
            return Some(verdict);
        }
        let verdict = tokio::time::timeout(probe.timeout, ask::ask(&probe.question, ip)).await;
        let verdict = verdict.unwrap_or(StatusCode::GATEWAY_TIMEOUT);
        *last = Some((clock::now(), verdict));
        Some(verdict)
    }
}

fn port(value: &serde_json::Value) -> Result<u16, String> {
    let number = value.as_u64().or_else(|| value.as_str().and_then(|text| text.parse().ok()));
    number
        .and_then(|number| u16::try_from(number).ok())
        .filter(|port| *port != 0)
        .ok_or_else(|| format!("port {value} is not a number from 1 to 65535; name the container's port by its number"))
}

fn http_question(raw: RawHttp) -> Result<Question, String> {
    if let Some(scheme) = raw.scheme.filter(|scheme| scheme != "HTTP") {
        return Err(format!("scheme {scheme} is the application's own TLS; leave such a probe as it is"));
    }
    if let Some(host) = raw.host.filter(|host| !host.is_empty()) {
        return Err(format!("host {host} is not this pod; leave such a probe as it is"));
    }
    let path = if raw.path.starts_with('/') { raw.path } else { format!("/{}", raw.path) };
    let target = path.parse().map_err(|_| format!("path {path:?} can't be requested"))?;
    let mut headers = HeaderMap::new();
    for header in raw.http_headers {
        let name: HeaderName = header.name.parse().map_err(|_| format!("{:?} is not a header name", header.name))?;
        let value =
            HeaderValue::from_str(&header.value).map_err(|_| format!("the value of header {name} is not one"))?;
        headers.append(name, value);
    }
    Ok(Question::Http { port: port(&raw.port)?, target, headers })
}
