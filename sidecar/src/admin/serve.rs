//! Connections of the admin interface: few, short and never in the way of a new one. Nothing here is counted by a limit.
use bytes::Bytes;
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// So many at once; then the peer that holds most of them loses its oldest, so that nobody can keep the kubelet out, or
/// break off what it asks, by opening more.
const CONNECTIONS: usize = 64;
/// How long a request's head may take.
const HEAD: Duration = Duration::from_secs(5);
/// How long the whole exchange may take: the longest probe time-out that makes sense, and more.
const WHOLE: Duration = Duration::from_secs(60);
/// The longest body that is read, for a log level.
const BODY: usize = 4 << 10;
/// Pause after the kernel refused a connection, usually for want of file descriptors.
const BACK_OFF: Duration = Duration::from_millis(100);

/// What answers: the head and the whole body in, a response out.
pub trait Answer: Send + Sync + 'static {
    /// Answers one request.
    fn answer(&self, request: &Parts, body: &Bytes) -> impl Future<Output = Response<Bytes>> + Send;
}

impl Answer for super::PodAdmin {
    async fn answer(&self, request: &Parts, _: &Bytes) -> Response<Bytes> {
        Self::answer(self, request).await
    }
}

impl Answer for super::LocalAdmin {
    async fn answer(&self, request: &Parts, body: &Bytes) -> Response<Bytes> {
        Self::answer(self, request, body)
    }
}

/// One that is open.
struct Open {
    peer: IpAddr,
    handle: AbortHandle,
}

/// Serves for as long as it is polled.
pub async fn serve(listener: TcpListener, admin: Arc<impl Answer>) {
    let mut open: Vec<Open> = Vec::new();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(BACK_OFF).await;
            continue;
        };
        open.retain(|connection| !connection.handle.is_finished());
        if open.len() >= CONNECTIONS {
            open.remove(surplus(&open)).handle.abort();
        }
        let handle = tokio::spawn(connection(stream, admin.clone())).abort_handle();
        open.push(Open { peer: peer.ip().to_canonical(), handle });
    }
}

/// The oldest connection of the peer that has most of them; `open` is in order of age and not empty.
fn surplus(open: &[Open]) -> usize {
    let of = |peer| open.iter().filter(|other| other.peer == peer).count();
    let most = open.iter().map(|each| of(each.peer)).max();
    open.iter().position(|each| Some(of(each.peer)) == most).unwrap_or(0)
}

async fn connection(stream: TcpStream, admin: Arc<impl Answer>) {
    let service = service_fn(|request: Request<Incoming>| {
        let admin = admin.clone();
        async move {
            let (parts, body) = request.into_parts();
            Ok::<_, Infallible>(match Limited::new(body, BODY).collect().await {
                Ok(body) => admin.answer(&parts, &body.to_bytes()).await.map(Full::new),
                Err(_) => super::text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too long").map(Full::new),
            })
        }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(16 << 10)
        // one exchange a connection: what is asked here is asked seldom
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    let _ = tokio::time::timeout(WHOLE, serving).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_holds_most_connections_makes_room_and_not_the_oldest_of_all() {
        let idle = || tokio::spawn(std::future::pending::<()>()).abort_handle();
        let open: Vec<_> = [1, 2, 1, 2, 2]
            .map(|last| Open { peer: IpAddr::from([10, 0, 0, last]), handle: idle() })
            .into_iter()
            .collect();
        assert_eq!(surplus(&open), 1);
    }
}
