//! `/policy`, `/drain`, `/log-level`: what may be asked from inside the pod only. It shows no key and no count.
use super::{is_read, text, typed, wrong_method};
use crate::drain::{DrainTrigger, Phase};
use crate::log::{LogControl, LogLevels};
use crate::metrics;
use crate::reload::status::Status;
use bytes::Bytes;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use serde_json::json;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;
use weir_store::Store;

/// The half on loopback.
#[derive(Debug)]
pub struct LocalAdmin {
    /// The pod's name, so that who forwards a port sees which one answers.
    pub pod_name: Option<String>,
    /// What the last look at the policies came to.
    pub status: watch::Receiver<Arc<Status>>,
    /// Where requests are counted.
    pub store: Store,
    /// Starts draining.
    pub drain: DrainTrigger,
    /// Changes what is logged.
    pub log: LogControl,
}

impl LocalAdmin {
    /// Answers one request.
    pub fn answer(&self, request: &Parts, body: &Bytes) -> Response<Bytes> {
        if !from_here(request) {
            return text(
                StatusCode::FORBIDDEN,
                "this interface is not for web pages; ask it as http://127.0.0.1 or localhost",
            );
        }
        match (request.uri.path(), &request.method) {
            ("/policy", method) if is_read(method) => self.policy(),
            ("/drain", &Method::POST) => {
                if self.drain.advance(Phase::Draining) {
                    tracing::info!("draining: connections are closed after their next response");
                }
                text(StatusCode::ACCEPTED, "draining")
            }
            ("/log-level", &Method::PUT) => self.log_level(body),
            ("/policy", method) => wrong_method("GET, HEAD", method),
            ("/drain", method) => wrong_method("POST", method),
            ("/log-level", method) => wrong_method("PUT", method),
            _ => text(StatusCode::NOT_FOUND, "here are GET /policy, POST /drain and PUT /log-level"),
        }
    }

    fn policy(&self) -> Response<Bytes> {
        let status = self.status.borrow().clone();
        let breaker = metrics::state_name(self.store.breaker_state());
        let store = json!({ "status": self.store.status().as_str(), "breaker": breaker });
        let view = json!({ "pod": self.pod_name, "status": *status, "store": store });
        match serde_json::to_string_pretty(&view) {
            Ok(view) => typed(StatusCode::OK, "application/json", view + "\n"),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    }

    fn log_level(&self, body: &Bytes) -> Response<Bytes> {
        let levels = String::from_utf8_lossy(body).parse::<LogLevels>();
        match levels.and_then(|levels| self.log.set(&levels)) {
            Ok(()) => text(StatusCode::OK, "from now on that is logged"),
            Err(reason) => text(StatusCode::BAD_REQUEST, reason),
        }
    }
}

/// A web page in a browser with a port-forward open could reach this too: it names itself by Origin, or comes under a host
/// name of its own.
fn from_here(request: &Parts) -> bool {
    let host = request.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.and_then(|host| host.parse::<http::uri::Authority>().ok());
    let is_local = host.is_some_and(|host| {
        let host = host.host().trim_matches(['[', ']']);
        host == "localhost" || host.parse::<IpAddr>().is_ok()
    });
    is_local && !request.headers.contains_key(ORIGIN)
}
