//! Connections end on both sides together, and what is lost with one is repeated only where that can't matter.
use super::application::{Application, echo};
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use weir_sidecar::proxy::ProxyLimits;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

#[tokio::test]
async fn each_client_connection_has_one_of_its_own_to_the_application() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    for clients in 1..=2 {
        let mut client = Raw::connect(proxy.address).await;
        for _ in 0..3 {
            client.write(GET).await;
            client.read_message().await;
        }
        assert_eq!(application.connections(), clients);
    }
}

#[tokio::test]
async fn an_application_that_closes_an_idle_connection_closes_the_client_s() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write(OK).await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    assert_eq!(status(&client.read_head().await), 200);
    assert_eq!(client.read_to_end().await, "");
}

#[tokio::test]
async fn a_client_that_goes_ends_the_connection_to_the_application() {
    let ended = Arc::new(Notify::new());
    let tell = Arc::clone(&ended);
    let application = Application::start(move |_, mut raw| {
        let tell = Arc::clone(&tell);
        async move {
            raw.read_head().await;
            raw.gone().await;
            tell.notify_one();
        }
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    while application.connections() == 0 {
        tokio::task::yield_now().await;
    }
    drop(client);
    ended.notified().await;
}

#[tokio::test]
async fn a_close_that_is_announced_is_passed_on_both_ways() {
    let application = Application::answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
    let proxy = Fixture::before(application.address).await;
    let answer = exchange(proxy.address, GET).await;
    assert_eq!(header(&answer, "connection"), Some("close"));
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let answer = exchange(proxy.address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(
        answer.contains("\r\nconnection: close\r\nx-")
            || answer.to_lowercase().matches("connection: close").count() == 2
    );
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_ends_the_client_s() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write("HTTP/1.1 200 OK\r\n\r\nuntil the end").await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let answer = exchange(proxy.address, GET).await;
    assert_eq!((header(&answer, "connection"), header(&answer, "transfer-encoding")), (Some("close"), Some("chunked")));
    assert!(answer.ends_with("D\r\nuntil the end\r\n0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_client_that_waits_for_its_answer_is_not_idle() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        raw.write("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        raw.write("half").await;
        raw.gone().await;
    })
    .await;
    let idle = ProxyLimits { idle_time: Duration::from_millis(50), ..limits() };
    let proxy = Fixture::with(application.address, idle).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    assert_eq!(client.read_message().await.1, "halfhalf");
    // it is now, and the application has not closed anything
    assert_eq!(client.read_to_end().await, "");
}

/// Answers the first request of each connection; closes its first connection at a later one.
async fn closes_at_second() -> Application {
    Application::start(|number, mut raw| async move {
        raw.read_message().await;
        raw.write(OK).await;
        if number == 0 {
            raw.read_message().await;
            return;
        }
        echo(raw).await;
    })
    .await
}

#[tokio::test]
async fn a_request_lost_with_a_kept_connection_is_repeated_once_if_that_changes_nothing() {
    let application = closes_at_second().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    assert_eq!(status(&client.read_head().await), 200);
    client.write(GET).await;
    assert_eq!(status(&client.read_head().await), 200);
    assert_eq!(application.connections(), 2);
}

#[tokio::test]
async fn a_request_that_may_have_had_an_effect_is_not_repeated() {
    for request in [
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
        "STRANGE / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let application = closes_at_second().await;
        let proxy = Fixture::before(application.address).await;
        let mut client = Raw::connect(proxy.address).await;
        client.write(GET).await;
        assert_eq!(status(&client.read_head().await), 200);
        client.write(request).await;
        let head = client.read_head().await;
        assert_eq!((status(&head), header(&head, "weir-error")), (502, Some("upstream-reset")), "{request:?}");
        assert_eq!(application.connections(), 1);
    }
}

#[tokio::test]
async fn a_fresh_connection_that_is_closed_without_an_answer_is_not_tried_again() {
    let application = Application::start(|_, mut raw| async move { drop(raw.read_head().await) }).await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    let head = client.read_head().await;
    assert_eq!((status(&head), header(&head, "weir-error")), (502, Some("upstream-reset")));
    assert_eq!(application.connections(), 1);
}

#[tokio::test]
async fn an_answer_that_breaks_off_breaks_off_for_the_client() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    client.read_until("abc\r\n").await;
    let rest = client.read_to_end().await;
    assert!(!rest.contains("0\r\n\r\n"), "{rest:?}");
}

#[tokio::test]
async fn an_application_that_is_not_there_is_502_until_it_is() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let proxy = Fixture::before(address).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..2 {
        client.write(GET).await;
        let (head, _) = client.read_message().await;
        assert_eq!((status(&head), header(&head, "weir-error")), (502, Some("upstream-connect")));
    }
    let _application = Application::start_on(address, |_, raw| echo(raw)).await;
    client.write(GET).await;
    assert_eq!(status(&client.read_head().await), 200);
}

#[tokio::test]
async fn at_the_bound_a_connection_waits_for_another_to_end() {
    let application = Application::echo().await;
    let proxy = Fixture::with(application.address, ProxyLimits { connections: 1, ..limits() }).await;
    let mut first = Raw::connect(proxy.address).await;
    first.write(GET).await;
    first.read_message().await;
    let mut second = Raw::connect(proxy.address).await;
    second.write(GET).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((application.connections(), proxy.metrics.open_connections()), (1, 1));
    drop(first);
    assert_eq!(status(&second.read_message().await.0), 200);
}
