//! The admin interface in its two halves: what the kubelet and Prometheus ask, on the pod's address; what shows or changes
//! the sidecar, on loopback only (in Kubernetes reached by port-forward, so that its access control guards it).
mod local;
mod pod;
pub mod serve;

pub use local::LocalAdmin;
pub use pod::PodAdmin;

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};

/// A short answer in plain text, for people and for nobody's cache.
fn text(status: StatusCode, text: impl Into<String>) -> Response<Bytes> {
    let mut body = text.into();
    body.push('\n');
    typed(status, "text/plain; charset=utf-8", body)
}

fn typed(status: StatusCode, media: &'static str, body: impl Into<Bytes>) -> Response<Bytes> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn wrong_method(allowed: &'static str, method: &Method) -> Response<Bytes> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not for this path; use {allowed}"));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

fn is_read(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}
