//! Requests that are to wait: none goes on before its time, and a client that leaves is seen whatever of its bytes is unread.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{PATIENCE, Raw, header, status};
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::timeout;
use weir_sidecar::drain::Phase;
use weir_sidecar::proxy::{ProxyLimits, WaitEnd};

/// Longer than any test takes.
const LONG: &str = "600000";

async fn left(proxy: &Fixture) -> WaitEnd {
    timeout(PATIENCE, proxy.wait_end()).await.expect("the client's leaving was not seen")
}

/// Sends these bytes, and once the proxy has had time to read what it wants to of them, leaves.
async fn leaves_after(bytes: &str) {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(bytes.replace("LONG", LONG)).await;
    // the connection counts as open, and nothing ends by itself
    while proxy.metrics.open_connections() == 0 {
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(proxy.all_wait());
    drop(client);
    assert_eq!(left(&proxy).await, WaitEnd::Left);
    assert_eq!(application.connections(), 0, "nothing reached the application");
    let closed = async {
        while proxy.metrics.open_connections() > 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(PATIENCE, closed).await.expect("the connection is closed");
}

#[tokio::test]
async fn a_request_goes_on_when_its_time_has_come_and_not_before() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    for wait in [1_u64, 20, 150] {
        let sent = Instant::now();
        client.write(format!("GET / HTTP/1.1\r\nHost: a\r\nx-count: 1\r\nx-wait: {wait}\r\n\r\n")).await;
        let (head, _) = client.read_message().await;
        assert!(sent.elapsed() >= Duration::from_millis(wait), "{wait} ms");
        assert_eq!((status(&head), header(&head, "x-ratelimit-limit")), (200, Some("20")));
        assert_eq!(header(&head, "retry-after"), None);
        assert_eq!(proxy.wait_end().await, WaitEnd::GoesOn);
    }
}

#[tokio::test]
async fn a_body_stays_unread_while_its_request_waits_and_then_arrives_whole() {
    let application = Application::start(|_, mut raw| async move {
        let head = raw.read_head().await;
        let body = raw.read_exact(header(&head, "content-length").unwrap().parse().unwrap()).await;
        assert!(body.iter().all(|byte| *byte == b'b'));
        raw.write(format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nx-read: {}\r\n\r\n", body.len())).await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    let body = "b".repeat(3 << 20);
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nx-wait: 100\r\nContent-Length: {}\r\n\r\n", body.len());
    client.write(head + &body).await;
    let head = client.read_head().await;
    assert_eq!(header(&head, "x-read"), Some("3145728"));
}

#[tokio::test]
async fn a_client_that_leaves_with_nothing_unread_is_seen() {
    leaves_after("GET / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\n\r\n").await;
}

#[tokio::test]
async fn a_client_that_leaves_with_its_body_unsent_is_seen() {
    leaves_after("POST / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\nContent-Length: 1000000\r\n\r\n").await;
}

#[tokio::test]
async fn a_client_that_leaves_with_its_body_unread_is_seen() {
    let body = "b".repeat(100_000);
    leaves_after(&format!("POST / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\nContent-Length: 1000000\r\n\r\n{body}")).await;
}

#[tokio::test]
async fn a_client_that_leaves_with_its_whole_body_sent_is_seen() {
    leaves_after("POST / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\nContent-Length: 4\r\n\r\nbody").await;
}

#[tokio::test]
async fn a_client_that_leaves_with_a_second_request_behind_the_first_is_seen() {
    leaves_after("GET /1 HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n").await;
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_and_leaves_is_seen() {
    let expect = "Expect: 100-continue\r\nContent-Length: 4";
    leaves_after(&format!("POST / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\n{expect}\r\n\r\n")).await;
}

#[tokio::test]
async fn a_client_that_offers_an_upgrade_and_leaves_is_seen() {
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket";
    leaves_after(&format!("GET / HTTP/1.1\r\nHost: a\r\nx-wait: LONG\r\n{upgrade}\r\n\r\nframe")).await;
}

#[tokio::test]
async fn one_of_several_streams_is_reset_and_the_others_wait_on() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let stream = TcpStream::connect(proxy.address).await.unwrap().into_std().unwrap();
    let socket = stream.try_clone().unwrap();
    let stream = TcpStream::from_std(stream).unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let request = || {
        let uri = format!("http://{}/", proxy.address);
        Request::builder().uri(uri).header("x-wait", LONG).body(Empty::<Bytes>::new()).unwrap()
    };
    let first = tokio::spawn(sender.send_request(request()));
    let second = tokio::spawn(sender.send_request(request()));
    tokio::time::sleep(Duration::from_millis(50)).await;
    first.abort();
    assert_eq!(left(&proxy).await, WaitEnd::Left);
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(proxy.all_wait());
    socket.shutdown(std::net::Shutdown::Both).unwrap();
    assert_eq!(left(&proxy).await, WaitEnd::Left);
    drop((second, connection));
    assert_eq!(application.connections(), 0);
}

#[tokio::test]
async fn who_would_wait_longer_than_the_drain_is_turned_away_at_once_and_who_would_not_keeps_its_time() {
    let application = Application::echo().await;
    let proxy =
        Fixture::with(application.address, ProxyLimits { stop_time: Duration::from_secs(20), ..limits() }).await;
    for phase in [Phase::Draining, Phase::Stopping] {
        let (mut soon, mut late) = (Raw::connect(proxy.address).await, Raw::connect(proxy.address).await);
        soon.write("GET / HTTP/1.1\r\nHost: a\r\nx-wait: 300\r\n\r\n").await;
        late.write(format!("POST / HTTP/1.1\r\nHost: a\r\nx-wait: {LONG}\r\nContent-Length: 4\r\n\r\nbody")).await;
        let sent = Instant::now();
        if phase == Phase::Draining {
            while proxy.metrics.open_connections() < 2 {
                tokio::task::yield_now().await;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            proxy.drain.advance(phase);
        }
        let (head, _) = late.read_message().await;
        assert_eq!((status(&head), header(&head, "weir-error")), (503, Some("draining")), "{head}");
        assert!(sent.elapsed() < Duration::from_secs(15));
        assert_eq!(proxy.wait_end().await, WaitEnd::TurnedAway);
        let (head, _) = soon.read_message().await;
        assert_eq!(status(&head), 200);
        assert!(sent.elapsed() >= Duration::from_millis(300));
        assert_eq!(proxy.wait_end().await, WaitEnd::GoesOn);
    }
}
