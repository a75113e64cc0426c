//! The answers that are ours and no policy's.
use super::body::ProxyBody;
use super::guard::Rejection;
use super::upstream::UpstreamError;
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};

/// Says that an answer is ours and why.
pub(crate) const WEIR_ERROR: HeaderName = HeaderName::from_static("weir-error");

fn own(status: StatusCode, kind: &'static str, text: &'static str) -> Response<ProxyBody> {
    let mut response = Response::new(ProxyBody::text(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().insert(WEIR_ERROR, HeaderValue::from_static(kind));
    response
}

/// The request was not let through.
pub(crate) fn rejected(rejection: Rejection) -> Response<ProxyBody> {
    own(rejection.status(), rejection.kind(), rejection.message())
}

/// The request's framing broke while it was forwarded.
pub(crate) fn broken() -> Response<ProxyBody> {
    own(StatusCode::BAD_REQUEST, "malformed", "the request body is not framed as HTTP says")
}

/// The application did not answer.
pub(crate) fn upstream(error: UpstreamError) -> Response<ProxyBody> {
    match error {
        UpstreamError::Connect => own(StatusCode::BAD_GATEWAY, "upstream-connect", "the application can't be reached"),
        UpstreamError::Reset => own(StatusCode::BAD_GATEWAY, "upstream-reset", "the application closed the connection"),
    }
}

/// The application switched to a protocol that the client did not offer.
pub(crate) fn not_offered() -> Response<ProxyBody> {
    own(StatusCode::BAD_GATEWAY, "upstream-reset", "the application switched to a protocol that was not offered")
}

/// This sidecar is going away.
pub(crate) fn draining() -> Response<ProxyBody> {
    own(StatusCode::SERVICE_UNAVAILABLE, "draining", "this instance is shutting down")
}

/// The client closed its side while its request waited; few will ever read this.
pub(crate) fn left() -> Response<ProxyBody> {
    own(StatusCode::BAD_REQUEST, "malformed", "the connection was closed while the request waited for its turn")
}

/// No tunnel is free.
pub(crate) fn no_tunnel() -> Response<ProxyBody> {
    own(StatusCode::SERVICE_UNAVAILABLE, "too-large", "all tunnels of this instance are in use")
}

/// A CONNECT where it opens no tunnel: in HTTP/2, and before an application that is no forward proxy.
pub(crate) fn no_connect() -> Response<ProxyBody> {
    own(StatusCode::METHOD_NOT_ALLOWED, "malformed", "CONNECT is not for this server, or works over HTTP/1.1 only")
}

/// A fault of ours.
pub(crate) fn panicked() -> Response<ProxyBody> {
    let mut response = Response::new(ProxyBody::text("internal error"));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}
