//! TLS, and destinations that are none.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange};
use weir_sidecar::proxy::{Target, Upstream};

const HELLO: &str = "\x16\x03\x01\x02\x00\x01\x00\x01";

#[tokio::test]
async fn a_tls_port_passes_bytes_and_is_counted_as_unlimited() {
    let application = Application::start(|_, mut raw| async move {
        let all = raw.read_to_end().await;
        raw.write(all).await;
    })
    .await;
    let upstream = Upstream::Fixed { target: Target::Address(application.address), tls: true };
    let proxy = Fixture::to(upstream, limits()).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(HELLO).await;
    client.half_close().await;
    assert_eq!(client.read_to_end().await, HELLO);
    assert_eq!((proxy.metrics.unlimited_connections(), proxy.metrics.rejected_connections()), (1, 0));
}

#[tokio::test]
async fn tls_elsewhere_is_closed_and_counted() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(HELLO).await;
    client.gone().await;
    assert_eq!((proxy.metrics.rejected_connections(), application.connections()), (1, 0));
}

#[tokio::test]
async fn a_name_is_looked_up_at_each_connect() {
    let application = Application::echo().await;
    let target = Target::Name("localhost".into(), application.address.port());
    let proxy = Fixture::to(Upstream::Fixed { target, tls: false }, limits()).await;
    let answer = exchange(proxy.address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn a_connection_that_was_not_captured_is_reset() {
    let upstream = Upstream::Original { captured: [8080].into(), tls: [].into() };
    let proxy = Fixture::to(upstream, limits()).await;
    let mut client = Raw::connect(proxy.address).await;
    client.gone().await;
    assert_eq!(proxy.metrics.rejected_connections(), 1);
    // also where the listener's own port were among the captured ones, a connection to itself would never end
    let every: Vec<u16> = (1..=u16::MAX).collect();
    let proxy = Fixture::to(Upstream::Original { captured: every.into(), tls: [].into() }, limits()).await;
    let mut client = Raw::connect(proxy.address).await;
    client.gone().await;
    assert_eq!(proxy.metrics.rejected_connections(), 1);
}
