//! The admin interface: `/live`, `/ready` and `/metrics` over plain HTTP. What they say is given from outside.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tracing::{debug, warn};

use crate::metrics::CONTENT_TYPE;

/// For the headers of a request.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, such as for lack of file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// What the interface says.
pub struct Admin {
    /// What is still missing before this replica may be sent requests; nothing means ready.
    pub missing: Box<dyn Fn() -> Vec<String> + Send + Sync>,
    /// The metrics as text.
    pub metrics: Box<dyn Fn() -> String + Send + Sync>,
}

/// Answers on `listener`, for as long as it is polled.
pub async fn serve(listener: TcpListener, admin: Arc<Admin>) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                warn!(%error, "accepting an admin connection failed");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let admin = admin.clone();
        tokio::spawn(async move {
            let service = hyper::service::service_fn(|request: Request<Incoming>| {
                let response = respond(request.method(), request.uri().path(), &admin);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(HEADERS_WITHIN);
            if let Err(error) = builder.serve_connection(TokioIo::new(stream), service).await {
                debug!(%error, "an admin connection ended early");
            }
        });
    }
}

fn respond(method: &Method, path: &str, admin: &Admin) -> Response<Full<Bytes>> {
    let (status, kind, text) = match (method, path) {
        (&Method::GET | &Method::HEAD, "/live") => (StatusCode::OK, "text/plain", "alive\n".to_owned()),
        (&Method::GET | &Method::HEAD, "/ready") => {
            let missing = (admin.missing)();
            if missing.is_empty() {
                (StatusCode::OK, "text/plain", "ready\n".to_owned())
            } else {
                let text = format!("not ready:\n{}\n", missing.join("\n"));
                (StatusCode::SERVICE_UNAVAILABLE, "text/plain", text)
            }
        }
        (&Method::GET | &Method::HEAD, "/metrics") => (StatusCode::OK, CONTENT_TYPE, (admin.metrics)()),
        (_, "/live" | "/ready" | "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "only GET\n".to_owned()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "nothing here; try /live, /ready or /metrics\n".to_owned()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(missing: &'static [&'static str], method: Method, path: &str) -> u16 {
        let admin = Admin {
            missing: Box::new(|| missing.iter().map(|m| (*m).to_owned()).collect()),
            metrics: Box::new(String::new),
        };
        respond(&method, path, &admin).status().as_u16()
    }

    #[test]
    fn ready_means_that_nothing_is_missing_and_alive_does_not_depend_on_it() {
        assert_eq!(status(&[], Method::GET, "/ready"), 200);
        assert_eq!(status(&["caBundle"], Method::GET, "/ready"), 503);
        assert_eq!(status(&["caBundle"], Method::GET, "/live"), 200);
    }

    #[test]
    fn anything_else_is_refused() {
        assert_eq!(status(&[], Method::POST, "/ready"), 405);
        assert_eq!(status(&[], Method::GET, "/"), 404);
        assert_eq!(status(&[], Method::GET, "/metrics"), 200);
    }
}
