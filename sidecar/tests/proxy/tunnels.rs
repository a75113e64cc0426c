//! What follows an upgrade or a CONNECT passes as bytes; what was not offered does not begin.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use weir_sidecar::proxy::ProxyLimits;

const WEBSOCKET: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n";
const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s\r\n\r\n";

/// Switches, sends `hello`, echoes until the client's half ends, then says `bye` and ends its own.
async fn chat() -> Application {
    Application::start(|_, mut raw| async move {
        let head = raw.read_head().await;
        assert_eq!((header(&head, "upgrade"), header(&head, "connection")), (Some("websocket"), Some("upgrade")));
        raw.write([SWITCHED, "hello"].concat()).await;
        let all = raw.read_to_end().await;
        raw.write([&all, "bye"].concat()).await;
    })
    .await
}

#[tokio::test]
async fn a_websocket_opens_passes_bytes_and_ends_by_halves() {
    let application = chat().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    // the client's first frame comes with the request, behind it
    client.write([WEBSOCKET, "GET / HTTP/9\n"].concat()).await;
    let head = client.read_head().await;
    assert_eq!(status(&head), 101);
    assert_eq!(header(&head, "upgrade"), Some("websocket"));
    assert_eq!(header(&head, "connection").map(str::to_lowercase).as_deref(), Some("upgrade"));
    assert_eq!((header(&head, "content-length"), header(&head, "sec-websocket-accept")), (None, Some("s")));
    client.read_until("hello").await;
    assert_eq!(proxy.metrics.open_tunnels(), 1);
    client.write("one").await;
    client.half_close().await;
    assert_eq!(client.read_to_end().await, "GET / HTTP/9\nonebye");
    while proxy.metrics.open_tunnels() + proxy.metrics.open_connections() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_upgrade_that_is_declined_leaves_http_guarded() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    let plain = "GET /next HTTP/1.1\r\nHost: a\r\n\r\n";
    client.write([WEBSOCKET, plain].concat()).await;
    client.read_message().await;
    assert!(client.read_message().await.1.starts_with("GET /next "));
    client.write([WEBSOCKET, "GET / HTTP/1.1\r\n\r\n"].concat()).await;
    assert_eq!(status(&client.read_message().await.0), 200);
    assert_eq!(status(&client.read_message().await.0), 400);
}

#[tokio::test]
async fn an_application_that_declines_and_closes_closes_the_client_s() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    assert_eq!(status(&exchange(proxy.address, WEBSOCKET).await), 400);
}

#[tokio::test]
async fn a_switch_to_what_was_not_offered_is_502() {
    let plain = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let h2c = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n";
    for (request, answer) in [
        (plain, SWITCHED),
        (h2c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
        (WEBSOCKET, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"),
        (WEBSOCKET, "HTTP/1.1 101 Switching Protocols\r\n\r\n"),
    ] {
        let application = Application::answering(answer).await;
        let proxy = Fixture::before(application.address).await;
        let answer = exchange(proxy.address, request).await;
        assert_eq!((status(&answer), header(&answer, "connection")), (502, Some("close")), "{request:?}: {answer}");
    }
}

#[tokio::test]
async fn offers_of_http_and_tls_do_not_reach_the_application() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    for offer in ["h2c", "HTTP/2.0", "TLS/1.2", "h2c, websocket"] {
        let mut client = Raw::connect(proxy.address).await;
        client.write(format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings\r\nUpgrade: {offer}\r\nHTTP2-Settings: x\r\n\r\n")).await;
        let (_, seen) = client.read_message().await;
        let expected = offer.contains("websocket").then_some("websocket");
        assert_eq!((header(&seen, "upgrade"), header(&seen, "http2-settings")), (expected, None), "{offer}");
    }
}

#[tokio::test]
async fn connect_opens_a_tunnel_even_if_its_answer_has_a_length() {
    let application = Application::start(|_, mut raw| async move {
        let head = raw.read_head().await;
        assert!(head.starts_with("CONNECT b:443 HTTP/1.1\r\n"), "{head}");
        raw.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").await;
        let all = raw.read_to_end().await;
        raw.write(all).await;
    })
    .await;
    let allowed = ProxyLimits { connect: true, ..limits() };
    let proxy = Fixture::with(application.address, allowed.clone()).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n\x16\x03\x01").await;
    assert_eq!(status(&client.read_head().await), 200);
    client.half_close().await;
    assert_eq!(client.read_to_end().await, "\x16\x03\x01");
    let declining = Application::answering("HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = Fixture::with(declining.address, allowed).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..2 {
        client.write("CONNECT b:443 HTTP/1.1\r\nHost: b:443\r\n\r\n").await;
        assert_eq!(status(&client.read_head().await), 405);
    }
}

#[tokio::test]
async fn connect_is_no_way_around_before_an_application_that_answers_it_like_any_request() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    let in_the_tunnel = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    client.write(["CONNECT b:80 HTTP/1.1\r\nHost: b:80\r\n\r\n", in_the_tunnel].concat()).await;
    let (head, _) = client.read_message().await;
    assert_eq!((status(&head), header(&head, "connection")), (405, Some("close")));
    assert_eq!(client.read_to_end().await, "");
    assert_eq!(application.connections(), 0);
}

#[tokio::test]
async fn one_tunnel_too_many_is_503() {
    let application = chat().await;
    let proxy = Fixture::with(application.address, ProxyLimits { tunnels: 1, ..limits() }).await;
    let mut first = Raw::connect(proxy.address).await;
    first.write(WEBSOCKET).await;
    first.read_until("hello").await;
    let mut second = Raw::connect(proxy.address).await;
    second.write(WEBSOCKET).await;
    assert_eq!(status(&second.read_message().await.0), 503);
    first.half_close().await;
    first.read_to_end().await;
    while proxy.metrics.open_tunnels() > 0 {
        tokio::task::yield_now().await;
    }
    second.write(WEBSOCKET).await;
    assert_eq!(status(&second.read_head().await), 101);
}
