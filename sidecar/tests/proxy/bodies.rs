//! Bodies stream, wait for each other, and are read no further than they are wanted.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use weir_sidecar::proxy::ProxyLimits;

const PIECE: usize = 64 << 10;
/// More than all buffers between two sockets of a loopback hold.
const MUCH: u64 = 96 << 20;

#[tokio::test]
async fn a_long_body_waits_for_the_application_and_arrives_whole() {
    let go = Arc::new(Notify::new());
    let wait = Arc::clone(&go);
    let application = Application::start(move |_, mut raw| {
        let wait = Arc::clone(&wait);
        async move {
            raw.read_head().await;
            wait.notified().await;
            raw.read_exact(usize::try_from(MUCH).unwrap()).await;
            raw.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {MUCH}\r\n\r\n")).await;
    let sent = Arc::new(AtomicU64::new(0));
    let (mut read, mut write) = client.stream.into_split();
    let count = Arc::clone(&sent);
    let sending = tokio::spawn(async move {
        let piece = vec![7; PIECE];
        while count.load(Ordering::SeqCst) < MUCH {
            write.write_all(&piece).await.unwrap();
            count.fetch_add(PIECE as u64, Ordering::SeqCst);
        }
        write
    });
    // nothing is read at the other end, so sending comes to rest before all is sent
    let mut before = u64::MAX;
    while before != sent.load(Ordering::SeqCst) {
        before = sent.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(before < MUCH, "all of the body was taken in before the application read any");
    go.notify_one();
    let mut answer = [0; 15];
    read.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200 OK");
    drop(sending.await.unwrap());
}

#[tokio::test]
async fn a_long_answer_waits_for_the_client_and_arrives_whole() {
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    let application = Application::start(move |_, mut raw| {
        let count = Arc::clone(&count);
        async move {
            raw.read_head().await;
            raw.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await;
            let piece = vec![b'x'; PIECE];
            while count.load(Ordering::SeqCst) < MUCH {
                raw.write(format!("{PIECE:x}\r\n")).await;
                raw.write(&piece).await;
                raw.write("\r\n").await;
                count.fetch_add(PIECE as u64, Ordering::SeqCst);
            }
            raw.write("0\r\n\r\n").await;
            raw.gone().await;
        }
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET / HTTP/1.0\r\n\r\n").await;
    let head = client.read_head().await;
    assert_eq!((status(&head), header(&head, "content-length")), (200, None));
    let mut before = u64::MAX;
    while before != sent.load(Ordering::SeqCst) {
        before = sent.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(before < MUCH, "all of the answer was taken in before the client read any");
    // HTTP/1.0 knows no chunks: the body ends with the connection
    assert_eq!(client.read_to_end().await.len() as u64, MUCH);
}

#[tokio::test]
async fn a_piece_of_an_answer_arrives_before_the_next_is_made() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n").await;
        // the client says that it has the first by a second request, behind which nothing was pipelined
        raw.read_until("go on").await;
        raw.write("6\r\nsecond\r\n0\r\n\r\n").await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
    client.read_until("5\r\nfirst\r\n").await;
    client.write("5\r\ngo on\r\n0\r\n\r\n").await;
    client.read_until("6\r\nsecond\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn wrongly_framed_chunks_are_never_a_whole_request_to_the_application() {
    let table = [
        "x\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5\r\nhelloX\r\n0\r\n\r\n",
        "-1\r\n",
        "5;a\0\r\nhello\r\n0\r\n\r\n",
        "0\r\nX: y\n\r\n",
    ];
    for chunks in table {
        let application = Application::start(|_, mut raw| async move {
            raw.read_head().await;
            let body = raw.read_to_end().await;
            assert!(!body.contains("0\r\n\r\n"), "{body:?}");
        })
        .await;
        let proxy = Fixture::before(application.address).await;
        let answer = exchange(
            proxy.address,
            format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}"),
        )
        .await;
        assert_eq!((status(&answer), header(&answer, "weir-error")), (400, Some("malformed")), "{chunks:?}: {answer}");
    }
}

#[tokio::test]
async fn an_upload_that_is_refused_is_answered_early_and_not_taken_in() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("POST / HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\nContent-Length: 1073741824\r\n\r\n").await;
    let head = client.read_head().await;
    assert_eq!((status(&head), header(&head, "connection")), (429, Some("close")));
    let piece = vec![0; PIECE];
    let mut sent = 0_u64;
    // lingering takes bytes in and drops them, for its time and no longer
    while client.stream.write_all(&piece).await.is_ok() {
        sent += PIECE as u64;
        assert!(sent < 1 << 40, "the connection is never closed");
    }
    assert_eq!(application.connections(), 0);
}

#[tokio::test]
async fn a_refused_upload_that_goes_on_while_it_is_answered_sees_the_answer() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let client = Raw::connect(proxy.address).await;
    let (mut read, mut write) = client.stream.into_split();
    write.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    let sending = tokio::spawn(async move {
        let piece = [format!("{PIECE:x}\r\n").into_bytes(), vec![0; PIECE], b"\r\n".to_vec()].concat();
        while write.write_all(&piece).await.is_ok() {}
    });
    let mut answer = [0; 12];
    read.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 429");
    sending.await.unwrap();
}

const EXPECTING: &str = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";

#[tokio::test]
async fn the_client_is_told_to_go_on_when_the_application_says_so() {
    let application = Application::start(|_, mut raw| async move {
        loop {
            let head = raw.read_head().await;
            assert_eq!(header(&head, "expect"), Some("100-continue"));
            raw.write("HTTP/1.1 100 Continue\r\n\r\n").await;
            assert_eq!(raw.read_exact(5).await, b"hello");
            raw.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    // so long a time that only the application can be the one who said so
    let patient = ProxyLimits { continue_time: Duration::from_secs(3_600), ..limits() };
    let proxy = Fixture::with(application.address, patient).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..2 {
        client.write(EXPECTING).await;
        assert_eq!(status(&client.read_head().await), 100);
        client.write("hello").await;
        assert_eq!(status(&client.read_head().await), 200);
    }
    assert_eq!(application.connections(), 1);
}

#[tokio::test]
async fn an_application_that_says_nothing_gets_the_body_after_a_while() {
    let application = Application::start(|_, mut raw| async move {
        raw.read_message().await;
        raw.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
        raw.gone().await;
    })
    .await;
    let time = Duration::from_millis(100);
    let proxy = Fixture::with(application.address, ProxyLimits { continue_time: time, ..limits() }).await;
    let mut client = Raw::connect(proxy.address).await;
    let began = Instant::now();
    client.write(EXPECTING).await;
    assert_eq!(status(&client.read_head().await), 100);
    assert!(began.elapsed() >= time);
    client.write("hello").await;
    assert_eq!(status(&client.read_head().await), 200);
}

#[tokio::test]
async fn no_100_comes_before_a_final_answer_without_the_body() {
    let patient = || ProxyLimits { continue_time: Duration::from_secs(3_600), ..limits() };
    let application = Application::answering("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n").await;
    let rejecting = Application::start(|_, mut raw| async move {
        raw.read_head().await;
        raw.write("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n").await;
        raw.gone().await;
    })
    .await;
    let proxy = Fixture::with(rejecting.address, patient()).await;
    let answer = exchange(proxy.address, EXPECTING).await;
    assert_eq!((status(&answer), header(&answer, "connection")), (417, Some("close")));
    let proxy = Fixture::with(application.address, patient()).await;
    let answer = exchange(proxy.address, EXPECTING.replace("Expect", "X-Refuse: 1\r\nExpect")).await;
    assert_eq!((status(&answer), header(&answer, "connection")), (429, Some("close")));
    assert_eq!(application.connections(), 0);
}

#[tokio::test]
async fn informational_answers_are_not_taken_for_the_final_one() {
    let application = Application::answering(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    )
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..2 {
        client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let (head, body) = client.read_message().await;
        assert_eq!((status(&head), header(&head, "link"), &*body), (200, None, "hi"));
    }
}

#[tokio::test]
async fn announced_trailers_go_on_both_ways() {
    let application = Application::start(|_, mut raw| async move {
        let head = raw.read_head().await;
        assert_eq!(header(&head, "te"), Some("trailers"));
        let body = raw.read_until("\r\n\r\n").await;
        assert!(body.to_lowercase().contains("x-sum: 5\r\n"), "{body}");
        raw.write("HTTP/1.1 200 OK\r\nTrailer: X-End\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-End: yes\r\n\r\n")
            .await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client
        .write(
            "POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: te\r\nTrailer: X-Sum\r\n\
             Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n",
        )
        .await;
    assert_eq!(status(&client.read_head().await), 200);
    assert!(client.read_until("\r\n\r\n").await.to_lowercase().contains("x-end: yes"));
}
