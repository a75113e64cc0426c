//! The sample application: answers every request with what it received, so that a person sees what the sidecar passed on.
//!
//! | target | answer |
//! |---|---|
//! | `/healthz` | 200, or 503 once somebody has sent `POST /unwell` (to watch a probe fail) |
//! | `/status/N` | status N |
//! | anything else | 200 and a JSON document: who answered, method, target, version, headers |
//!
//! HTTP/1.1, and HTTP/2 with prior knowledge, on one port.
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// Serves until SIGTERM, which ends the process at once as most applications do.
///
/// # Errors
/// When the address can't be bound or a signal handler can't be set.
pub async fn serve(listen: SocketAddr, name: String) -> std::io::Result<()> {
    let listener = TcpListener::bind(listen).await?;
    println!("weir-echo {name} listens on {}", listener.local_addr()?);
    let app = Arc::new(App { name, unwell: AtomicBool::new(false) });
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { continue };
                let _ = socket.set_nodelay(true);
                let app = app.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(app.clone(), request));
                    // A connection that breaks is the client's news, not ours.
                    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await;
                });
            }
            _ = terminate.recv() => return Ok(()),
        }
    }
}

struct App {
    name: String,
    unwell: AtomicBool,
}

async fn answer(app: Arc<App>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    // Read to the end: an application that ignores an upload is a different test.
    let received = body.collect().await.map(|whole| whole.to_bytes().len()).unwrap_or(0);
    let path = parts.uri.path();
    if path == "/unwell" && parts.method == Method::POST {
        app.unwell.store(true, Ordering::Relaxed);
    }
    let status = if path == "/healthz" && app.unwell.load(Ordering::Relaxed) {
        StatusCode::SERVICE_UNAVAILABLE
    } else {
        path.strip_prefix("/status/")
            .and_then(|code| code.parse::<u16>().ok())
            .and_then(|code| StatusCode::from_u16(code).ok())
            .filter(|code| !code.is_informational())
            .unwrap_or(StatusCode::OK)
    };
    let headers: serde_json::Map<String, serde_json::Value> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned().into()))
        .collect();
    let document = serde_json::json!({
        "app": app.name,
        "method": parts.method.as_str(),
        "target": parts.uri.to_string(),
        "version": format!("{:?}", parts.version),
        "bodyBytes": received,
        "headers": headers,
    });
    let mut response = Response::new(Full::new(Bytes::from(format!("{document:#}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", hyper::header::HeaderValue::from_static("application/json"));
    Ok(response)
}
