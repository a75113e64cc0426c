//! `/live`, `/ready`, `/metrics`, `/probe/<container>/<kind>`: what may be asked from outside the pod. It changes nothing.
use super::{is_read, text, typed, wrong_method};
use crate::drain::{Drain, Phase};
use crate::metrics::{self, Metrics};
use crate::probe::Probes;
use bytes::Bytes;
use http::request::Parts;
use http::{Response, StatusCode};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// The half on the pod's address.
#[derive(Debug)]
pub struct PodAdmin {
    /// All that is counted.
    pub metrics: Arc<Metrics>,
    /// The application's own probes.
    pub probes: Probes,
    /// Where the application is probed.
    pub pod_ip: IpAddr,
    /// True once the first policies are in force and the listeners are open. It never depends on the store.
    pub ready: watch::Receiver<bool>,
    /// Whether the pod is going away.
    pub drain: Drain,
}

impl PodAdmin {
    /// Answers one request.
    pub async fn answer(&self, request: &Parts) -> Response<Bytes> {
        if !is_read(&request.method) {
            return wrong_method("GET, HEAD", &request.method);
        }
        match request.uri.path() {
            "/live" => text(StatusCode::OK, "live"),
            "/ready" => self.ready(),
            "/metrics" => typed(StatusCode::OK, metrics::CONTENT_TYPE, self.metrics.encode()),
            path => match path.strip_prefix("/probe/").and_then(|rest| rest.split_once('/')) {
                Some((container, kind)) => self.probe(container, kind).await,
                None => text(StatusCode::NOT_FOUND, "here are /live, /ready, /metrics and /probe/<container>/<kind>"),
            },
        }
    }

    fn ready(&self) -> Response<Bytes> {
        if self.drain.phase() > Phase::Serving {
            text(StatusCode::SERVICE_UNAVAILABLE, "draining")
        } else if *self.ready.borrow() {
            text(StatusCode::OK, "ready")
        } else {
            text(StatusCode::SERVICE_UNAVAILABLE, "waiting for the first policies")
        }
    }

    async fn probe(&self, container: &str, kind: &str) -> Response<Bytes> {
        match self.probes.verdict(container, kind, self.pod_ip).await {
            Some(verdict) => text(verdict, format!("the application's verdict: {}", verdict.as_u16())),
            None => text(StatusCode::NOT_FOUND, "this pod has no such probe"),
        }
    }
}
