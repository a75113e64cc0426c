//! Going away costs nobody a request.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use weir_sidecar::drain::Phase;
use weir_sidecar::proxy::ProxyLimits;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn draining_under_keep_alive_load_fails_no_request() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let (stop, answered, closes) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (stop, answered, closes, address) = (stop.clone(), answered.clone(), closes.clone(), proxy.address);
        clients.spawn(async move {
            let mut client = Raw::connect(address).await;
            while !stop.load(Ordering::SeqCst) {
                client.write(GET).await;
                let (head, _) = client.read_message().await;
                assert_eq!(status(&head), 200);
                answered.fetch_add(1, Ordering::SeqCst);
                if header(&head, "connection") == Some("close") {
                    closes.fetch_add(1, Ordering::SeqCst);
                    client = Raw::connect(address).await;
                }
            }
        });
    }
    while answered.load(Ordering::SeqCst) < 200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(closes.load(Ordering::SeqCst), 0);
    assert!(proxy.drain.advance(Phase::Draining));
    let so_far = answered.load(Ordering::SeqCst);
    while answered.load(Ordering::SeqCst) < so_far + 200 {
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::SeqCst);
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    // only what was under way when draining began may lack the word
    assert!(closes.load(Ordering::SeqCst) >= 190);
}

#[tokio::test]
async fn an_idle_connection_stays_while_draining_and_its_next_answer_closes_it() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    client.read_message().await;
    proxy.drain.advance(Phase::Draining);
    tokio::time::sleep(Duration::from_millis(100)).await;
    client.write(GET).await;
    let (head, _) = client.read_message().await;
    assert_eq!((status(&head), header(&head, "connection")), (200, Some("close")));
    assert_eq!(client.read_to_end().await, "");
}

#[tokio::test]
async fn stopping_ends_what_is_in_flight_and_tells_stragglers() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let application = Application::start(move |number, mut raw| {
        let wait = Arc::clone(&wait);
        async move {
            raw.read_head().await;
            if number == 0 {
                wait.notified().await;
            }
            raw.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
            raw.gone().await;
        }
    })
    .await;
    let mut proxy = Fixture::before(application.address).await;
    let mut slow = Raw::connect(proxy.address).await;
    slow.write(GET).await;
    while application.connections() == 0 {
        tokio::task::yield_now().await;
    }
    let mut idle = Raw::connect(proxy.address).await;
    idle.write(GET).await;
    idle.read_message().await;
    proxy.drain.advance(Phase::Stopping);
    idle.write(GET).await;
    let answer = idle.read_to_end().await;
    assert_eq!((status(&answer), header(&answer, "weir-error")), (503, Some("draining")));
    assert_eq!(header(&answer, "connection"), Some("close"));
    go.notify_one();
    let answer = slow.read_to_end().await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("ok"), "{answer}");
    proxy.serving.join_next().await.unwrap().unwrap();
    assert!(tokio::net::TcpStream::connect(proxy.address).await.is_err());
}

#[tokio::test]
async fn stopping_is_bounded() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.gone().await;
    })
    .await;
    let time = Duration::from_millis(300);
    let mut proxy = Fixture::with(application.address, ProxyLimits { stop_time: time, ..limits() }).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(GET).await;
    while application.connections() == 0 {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    proxy.drain.advance(Phase::Stopping);
    proxy.serving.join_next().await.unwrap().unwrap();
    assert!(began.elapsed() >= time);
    client.gone().await;
    assert_eq!(proxy.metrics.open_connections(), 0);
}

#[tokio::test]
async fn a_new_connection_is_served_while_draining() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    proxy.drain.advance(Phase::Draining);
    let answer = exchange(proxy.address, GET).await;
    assert_eq!((status(&answer), header(&answer, "connection")), (200, Some("close")));
}
