//! What the guard does with bytes, without sockets.
use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

fn guarded(io: tokio::io::DuplexStream) -> (Guard<tokio::io::DuplexStream>, Arc<Signal>) {
    let signal = Arc::new(Signal::default());
    let limits = ProxyLimits::default();
    (Guard::new(io, b"", clock::now() + limits.head_time, &limits, Arc::clone(&signal)), signal)
}

async fn read(guard: &mut Guard<tokio::io::DuplexStream>, length: usize) -> String {
    let mut bytes = vec![0; length];
    guard.read_exact(&mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn what_is_rejected_never_comes_out_and_a_placeholder_stands_in_its_turn() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    client.write_all([GET, GET, "BAD\n", GET].concat().as_bytes()).await.unwrap();
    let out = read(&mut guard, 2 * GET.len() + PLACEHOLDER.len()).await;
    assert_eq!(out.as_bytes(), [GET.as_bytes(), GET.as_bytes(), PLACEHOLDER].concat());
    assert_eq!((signal.next_request(), signal.next_request()), (None, None));
    assert!(matches!(signal.next_request(), Some(Rejection::Malformed(_))));
    client.write_all(GET.as_bytes()).await.unwrap();
    let more = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(more.is_err(), "after a rejection nothing comes out");
}

#[tokio::test]
async fn a_small_reader_gets_the_same_bytes() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, _) = guarded(io);
    let sent = [GET, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", GET].concat();
    client.write_all(sent.as_bytes()).await.unwrap();
    let mut out = Vec::new();
    while out.len() < sent.len() {
        out.push(guard.read_u8().await.unwrap());
    }
    assert_eq!(out, sent.as_bytes());
}

#[tokio::test]
async fn behind_an_offer_to_upgrade_nothing_comes_out_before_it_is_decided() {
    let offer = "GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\n";
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    client.write_all([offer, GET].concat().as_bytes()).await.unwrap();
    read(&mut guard, offer.len()).await;
    let early = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(early.is_err());
    signal.release();
    assert_eq!(read(&mut guard, GET.len()).await, GET);
    client.write_all([offer, "frame"].concat().as_bytes()).await.unwrap();
    read(&mut guard, offer.len()).await;
    let early = tokio::time::timeout(Duration::from_millis(20), guard.read_u8()).await;
    assert!(early.is_err());
    assert_eq!(&guard.into_inner().1[..], b"frame");
}

#[tokio::test]
async fn a_body_that_breaks_is_an_error_behind_what_was_right() {
    let (mut client, io) = duplex(1 << 16);
    let (mut guard, signal) = guarded(io);
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    client.write_all([head, "zz"].concat().as_bytes()).await.unwrap();
    read(&mut guard, head.len()).await;
    assert_eq!(guard.read_u8().await.unwrap_err().kind(), io::ErrorKind::InvalidData);
    assert!(signal.is_broken());
}
