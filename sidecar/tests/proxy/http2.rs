//! HTTP/2 with prior knowledge, on both sides.
use super::fixture::{Fixture, limits};
use super::raw::{PATIENCE, Raw};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Version};
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::Sender;
use tokio::task::{JoinHandle, JoinSet};
use weir_sidecar::drain::Phase;
use weir_sidecar::proxy::ProxyLimits;

type AnyBody = UnsyncBoxBody<Bytes, Infallible>;
type Client = (SendRequest<AnyBody>, JoinHandle<hyper::Result<()>>);

struct App {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

/// Answers by path: `/echo` the body and its trailers, `/trailers-only` a gRPC status, `/never` not at all, the rest its
/// version, authority and headers.
async fn application() -> App {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    let mut task = JoinSet::new();
    task.spawn(async move {
        let mut served = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            count.fetch_add(1, Ordering::SeqCst);
            served.spawn(async move {
                let _ = http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service_fn(answer))
                    .await;
            });
        }
    });
    App { address, connections, _task: task }
}

async fn answer(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, hyper::Error>>, Infallible> {
    let none = || Empty::new().map_err(|never: Infallible| match never {}).boxed();
    Ok(match request.uri().path() {
        "/echo" => Response::new(request.into_body().boxed()),
        "/never" => std::future::pending().await,
        "/trailers-only" => {
            let mut response = Response::new(none());
            let headers = response.headers_mut();
            headers.insert("content-type", HeaderValue::from_static("application/grpc"));
            headers.insert("grpc-status", HeaderValue::from_static("5"));
            response
        }
        _ => {
            let said = format!("{:?} {} {:?}", request.version(), request.uri(), request.headers());
            Response::new(Full::new(Bytes::from(said)).map_err(|never| match never {}).boxed())
        }
    })
}

async fn connect(address: SocketAddr) -> Client {
    let stream = TcpStream::connect(address).await.unwrap();
    let (sender, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (sender, tokio::spawn(connection))
}

fn request(path: &str) -> http::request::Builder {
    Request::builder().version(Version::HTTP_2).uri(format!("http://a{path}"))
}

fn none() -> AnyBody {
    Empty::new().boxed_unsync()
}

/// A body that ends with its sender.
fn told_later() -> (Sender<Bytes>, AnyBody) {
    let (tell, pieces) = tokio::sync::mpsc::channel(1);
    let stream = futures_util::stream::unfold(pieces, |mut pieces| async move {
        let piece = pieces.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(piece)), pieces))
    });
    (tell, StreamBody::new(stream).boxed_unsync())
}

async fn text(response: Response<Incoming>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn streams_share_one_connection_to_an_application_that_hears_http2() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (sender, _connection) = connect(proxy.address).await;
    let mut requests = JoinSet::new();
    for _ in 0..20 {
        let mut sender = sender.clone();
        requests.spawn(async move {
            let request = request("/x?y").header("te", "trailers").header("x-count", "1").body(none()).unwrap();
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.headers()["x-ratelimit-limit"], "20");
            text(response).await
        });
    }
    for said in requests.join_all().await {
        assert!(said.starts_with("HTTP/2.0 http://a/x?y "), "{said}");
        assert!(said.contains("\"te\": \"trailers\"") && said.contains("\"x-forwarded-for\": \"127.0.0.1\""), "{said}");
    }
    assert_eq!(application.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn bodies_and_trailers_pass_both_ways() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (mut sender, _connection) = connect(proxy.address).await;
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    let piece = Bytes::from(vec![7; 32 << 10]);
    let pieces = std::iter::repeat_n(piece, 64).map(Frame::data).chain([Frame::trailers(trailers.clone())]);
    let body = StreamBody::new(futures_util::stream::iter(pieces.map(Ok::<_, Infallible>)));
    let request = request("/echo").method(Method::POST).body(body.boxed_unsync()).unwrap();
    let collected = sender.send_request(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(collected.trailers(), Some(&trailers));
    assert_eq!(collected.to_bytes().len(), 64 * (32 << 10));
}

#[tokio::test]
async fn a_status_in_trailers_alone_arrives() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (mut sender, _connection) = connect(proxy.address).await;
    let request = request("/trailers-only").method(Method::POST).body(none()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.headers()["grpc-status"], "5");
    assert!(hyper::body::Body::is_end_stream(response.body()));
}

#[tokio::test]
async fn a_refusal_ends_its_stream_and_no_other() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (mut sender, _connection) = connect(proxy.address).await;
    for body in [none(), Full::new(Bytes::from(vec![0; 100 << 10])).boxed_unsync()] {
        let request = request("/").method(Method::POST).header("x-refuse", "1").body(body).unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!((response.status().as_u16(), response.headers().get("connection")), (429, None));
        assert_eq!(text(response).await, "too many");
    }
    let head = request("/").method(Method::HEAD).header("x-refuse", "1").body(none()).unwrap();
    let response = sender.send_request(head).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["content-length"]),
        (429, &HeaderValue::from_static("8"))
    );
    assert_eq!(application.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_the_guard_stops_in_http1_is_stopped_here_too() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (mut sender, _connection) = connect(proxy.address).await;
    let many = (0..257).fold(request("/"), |request, number| request.header(format!("x-{number}"), "y"));
    for (request, expected) in [
        (request("/").header("host", "b"), 400),
        (Request::builder().version(Version::HTTP_2).uri("http://user@a/"), 400),
        (request("/").header("host", "a").header("host", "a"), 400),
        (many, 431),
        (request(&format!("/{}", "y".repeat(17 << 10))), 414),
        (request("/").header("x", "y".repeat(63 << 10)).header("z", "y".repeat(2 << 10)), 431),
    ] {
        let response = sender.send_request(request.body(none()).unwrap()).await.unwrap();
        assert_eq!(response.status().as_u16(), expected);
    }
    let connect = Request::builder().method(Method::CONNECT).uri("b:443").body(none()).unwrap();
    assert_eq!(sender.send_request(connect).await.unwrap().status().as_u16(), 405);
    assert_eq!(application.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn draining_says_goaway_and_ends_what_is_in_flight() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let (mut sender, connection) = connect(proxy.address).await;
    let (tell, body) = told_later();
    let open = request("/echo").method(Method::POST).body(body).unwrap();
    let response = sender.send_request(open).await.unwrap();
    proxy.drain.advance(Phase::Draining);
    tell.send(Bytes::from_static(b"late")).await.unwrap();
    drop(tell);
    assert_eq!(text(response).await, "late");
    // the connection ends by itself, without an error
    connection.await.unwrap().unwrap();
    // and a new one has its first request
    let (mut sender, connection) = connect(proxy.address).await;
    assert_eq!(sender.send_request(request("/").body(none()).unwrap()).await.unwrap().status().as_u16(), 200);
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_that_resets_without_end_is_sent_away() {
    let application = application().await;
    let proxy = Fixture::with(application.address, ProxyLimits { resets: 20, ..limits() }).await;
    let (sender, connection) = connect(proxy.address).await;
    for _ in 0..200 {
        let mut sender = sender.clone();
        let asking = tokio::spawn(async move { sender.send_request(request("/never").body(none()).unwrap()).await });
        tokio::time::sleep(Duration::from_millis(2)).await;
        asking.abort();
        if connection.is_finished() {
            break;
        }
    }
    // whether by an orderly end or with an error, it is over
    let _ = connection.await.unwrap();
}

/// The start of a connection, and a request for `/never` on a stream, taken back at once.
const START: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
fn taken_back(stream: u32) -> Vec<u8> {
    let id = stream.to_be_bytes();
    // GET, http, `:authority: a`, `:path: /never`; then CANCEL
    let head = b"\x82\x86\x01\x01a\x04\x06/never";
    let frames = [&[0, 0, head.len() as u8, 1, 5][..], &id, head, &[0, 0, 4, 3, 0], &id, &[0, 0, 0, 8]];
    frames.concat()
}

#[tokio::test]
async fn a_client_that_goes_on_resetting_when_it_was_told_to_go_is_cut_off() {
    let application = application().await;
    let proxy = Fixture::with(application.address, ProxyLimits { resets: 20, ..limits() }).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(START).await;
    let goes_on = async {
        let mut stream = 1;
        while client.stream.write_all(&taken_back(stream)).await.is_ok() {
            stream += 2;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, goes_on).await.expect("it may go on for ever");
}

#[tokio::test]
async fn a_client_that_never_says_anything_again_does_not_keep_its_connection() {
    let application = application().await;
    let idle = ProxyLimits { idle_time: Duration::from_millis(100), ..limits() };
    let proxy = Fixture::with(application.address, idle).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(START).await;
    client.gone().await;
}

#[tokio::test]
async fn an_answer_that_takes_longer_than_the_idle_time_is_waited_for() {
    let application = application().await;
    let idle = ProxyLimits { idle_time: Duration::from_millis(20), ..limits() };
    let proxy = Fixture::with(application.address, idle).await;
    let (mut sender, connection) = connect(proxy.address).await;
    let (tell, body) = told_later();
    let response = sender.send_request(request("/echo").method(Method::POST).body(body).unwrap()).await.unwrap();
    // longer also than a client has that was told to go
    tokio::time::sleep(Duration::from_millis(2500)).await;
    tell.send(Bytes::from_static(b"late")).await.unwrap();
    drop(tell);
    assert_eq!(text(response).await, "late");
    connection.await.unwrap().unwrap();
}

#[tokio::test]
async fn an_application_that_is_not_there_is_502() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Fixture::before(address).await;
    let (mut sender, _connection) = connect(proxy.address).await;
    let response = sender.send_request(request("/").body(none()).unwrap()).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["weir-error"]),
        (502, &HeaderValue::from_static("upstream-connect"))
    );
}

#[tokio::test]
async fn a_preface_that_is_cut_is_still_one() {
    let application = application().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    for byte in *b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" {
        client.write([byte]).await;
        tokio::task::yield_now().await;
    }
    client.write([0, 0, 0, 4, 0, 0, 0, 0, 0]).await;
    // a SETTINGS frame of the server, with its type in the fourth byte
    assert_eq!(client.read_exact(9).await[3], 4);
}
