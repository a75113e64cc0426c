//! An application behind a sidecar: answers what the path asks for and counts.
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// Runs until the test's runtime ends.
pub(crate) struct App {
    pub(crate) address: SocketAddr,
    /// Requests that arrived.
    pub(crate) served: Arc<AtomicU64>,
    /// While true, `/healthz` is 503.
    pub(crate) unwell: Arc<AtomicBool>,
    /// `name: value` of every header of every request.
    pub(crate) headers: Arc<Mutex<Vec<String>>>,
}

impl App {
    pub(crate) async fn start() -> Self {
        Self::start_on("127.0.0.1:0".parse().unwrap()).await
    }

    pub(crate) async fn start_on(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (served, unwell, headers) = (Arc::default(), Arc::default(), Arc::default());
        let app = Self { address, served, unwell, headers };
        let (served, unwell, headers) = (app.served.clone(), app.unwell.clone(), app.headers.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (served, unwell, headers) = (served.clone(), unwell.clone(), headers.clone());
                let service =
                    service_fn(move |request| answer(request, served.clone(), unwell.clone(), headers.clone()));
                tokio::spawn(async move {
                    let _ =
                        auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await;
                });
            }
        });
        app
    }

    pub(crate) fn served(&self) -> u64 {
        self.served.load(Ordering::SeqCst)
    }
}

async fn answer(
    request: Request<Incoming>,
    served: Arc<AtomicU64>,
    unwell: Arc<AtomicBool>,
    headers: Arc<Mutex<Vec<String>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    served.fetch_add(1, Ordering::SeqCst);
    let seen = request.headers().iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()));
    headers.lock().unwrap().extend(seen);
    let mut response = Response::new(Full::from("hello from the application\n"));
    match request.uri().path() {
        "/healthz" if unwell.load(Ordering::SeqCst) => *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE,
        "/own-limit" => {
            let own = [("x-ratelimit-limit", "7"), ("ratelimit", "\"own\";r=7"), ("retry-after", "77")];
            for (name, value) in own {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
        }
        "/slow" => tokio::time::sleep(Duration::from_millis(300)).await,
        _ => {}
    }
    Ok(response)
}
