//! No head with two readings gets past, and what is wrong is said.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use std::time::{Duration, Instant};
use weir_sidecar::proxy::ProxyLimits;

#[tokio::test]
async fn a_head_with_no_reading_or_two_is_answered_400_and_never_forwarded() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let table: &[&str] = &[
        // framing
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
        "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "CONNECT a:80 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc",
        // host
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: user@a\r\n\r\n",
        // lines
        "GET / HTTP/1.1\nHost: a\n\n",
        "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n X: folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tfolded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nno-colon\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n",
        // request line
        "GET x HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
        "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /#fragment HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /<> HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http:// HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://user@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n",
        "CONNECT /path HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
        "GET / HTTP/3\r\n\r\n",
        "GET /\r\n",
        "\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        // other protocols, which say nothing more until they are answered
        "SSH-2.0-OpenSSH_9.2\r\n",
        "*1\r\n$4\r\nPING\r\n",
        "EHLO mail\r\n",
        "\0\0\0\x10",
        "{\"id\":1}",
    ];
    for bytes in table {
        let answer = exchange(proxy.address, bytes).await;
        assert_eq!(status(&answer), 400, "{bytes:?}: {answer}");
        assert_eq!(header(&answer, "weir-error"), Some("malformed"), "{bytes:?}");
        assert_eq!(header(&answer, "connection"), Some("close"), "{bytes:?}");
    }
    assert_eq!(application.connections(), 0);
    assert_eq!(proxy.metrics.answers(4), table.len() as u64);
}

#[tokio::test]
async fn an_odd_but_plain_head_is_forwarded() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let table: &[&str] = &[
        "GET / HTTP/1.0\r\n\r\n",
        "\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost:[::1]:80\t \r\nConnection: close\r\n\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "M-SEARCH /\"{a}|^`?`<>\" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET /%2e%2E//x;y?a=b?c HTTP/1.1\r\nHost: a\r\nX:\r\nConnection: close\r\n\r\n",
    ];
    for bytes in table {
        let answer = exchange(proxy.address, bytes).await;
        let fine = !bytes.contains('`');
        assert_eq!(status(&answer), if fine { 200 } else { 400 }, "{bytes:?}: {answer}");
    }
}

#[tokio::test]
async fn what_is_too_large_is_said_to_be() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let fields = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(count));
    let long = |length: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(length));
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "y".repeat(length));
    for (bytes, expected) in [
        (fields(256), 431),
        (long(64 << 10), 431),
        (long(1 << 20), 431),
        (target(16 << 10), 414),
        (target(1 << 20), 414),
    ] {
        let answer = exchange(proxy.address, bytes).await;
        assert_eq!((status(&answer), header(&answer, "weir-error")), (expected, Some("too-large")), "{answer}");
    }
    assert_eq!(application.connections(), 0);
    for bytes in [fields(200), long(60 << 10), target(15 << 10)] {
        let mut client = Raw::connect(proxy.address).await;
        client.write(&bytes).await;
        assert_eq!(status(&client.read_head().await), 200);
    }
}

#[tokio::test]
async fn requests_before_a_malformed_one_are_answered_first() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let good = "GET /good HTTP/1.1\r\nHost: a\r\n\r\n";
    let body = "POST /good HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nGET ";
    let answers = exchange(proxy.address, [good, body, good, "GET / HTTP/1.1\r\n\r\n", good].concat()).await;
    let statuses: Vec<_> = answers.lines().filter(|line| line.starts_with("HTTP/1.1 ")).map(status).collect();
    assert_eq!(statuses, [200, 200, 200, 400]);
    assert_eq!(application.connections(), 1);
}

#[tokio::test]
async fn however_a_head_is_cut_it_is_the_same_head() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let bytes = "POST /cut HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let application_of_chunks = Application::start(|_, mut raw| async move {
        loop {
            raw.read_until("0\r\n\r\n").await;
            raw.write("HTTP/1.1 204 No Content\r\n\r\n").await;
        }
    })
    .await;
    let chunks = Fixture::before(application_of_chunks.address).await;
    let mut client = Raw::connect(chunks.address).await;
    for cut in 1..bytes.len() {
        client.write(&bytes[..cut]).await;
        tokio::task::yield_now().await;
        client.write(&bytes[cut..]).await;
        assert_eq!(status(&client.read_head().await), 204, "cut at {cut}");
    }
    let mut client = Raw::connect(proxy.address).await;
    for byte in "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n".bytes() {
        client.write([byte]).await;
        tokio::task::yield_now().await;
    }
    assert_eq!(status(&client.read_head().await), 200);
}

#[tokio::test]
async fn a_bound_on_heads_that_is_raised_is_a_bound() {
    let application = Application::echo().await;
    let proxy = Fixture::with(application.address, ProxyLimits { head_bytes: 1 << 20, ..limits() }).await;
    let mut client = Raw::connect(proxy.address).await;
    for (fields, expected) in [(200, 200), (250, 431)] {
        let fields: String = (0..fields).map(|number| format!("x-{number}: {}\r\n", "y".repeat(5_000))).collect();
        client.write(format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n")).await;
        let (head, _) = client.read_message().await;
        assert_eq!(status(&head), expected);
    }
}

#[tokio::test]
async fn a_silent_or_slow_client_is_answered_408_and_not_before_its_time() {
    let application = Application::echo().await;
    let time = Duration::from_millis(200);
    let proxy = Fixture::with(application.address, ProxyLimits { head_time: time, ..limits() }).await;
    for start in ["", "G", "PRI * HT", "GET / HTTP/1.1\r\nHost: a\r\n"] {
        let began = Instant::now();
        let answer = exchange(proxy.address, start).await;
        assert!(began.elapsed() >= time);
        assert_eq!((status(&answer), header(&answer, "connection")), (408, Some("close")), "{start:?}");
    }
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.read_message().await;
    client.write("GET / HT").await;
    assert_eq!(status(&client.read_to_end().await), 408);
}

#[tokio::test]
async fn an_idle_connection_ends_without_an_answer() {
    let application = Application::echo().await;
    let idle = ProxyLimits { idle_time: Duration::from_millis(100), ..limits() };
    let proxy = Fixture::with(application.address, idle).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    client.read_message().await;
    assert_eq!(client.read_to_end().await, "");
}

#[tokio::test]
async fn a_client_that_goes_away_in_the_middle_of_a_head_leaves_nothing_behind() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write("GET / HTTP/1.1\r\nHo").await;
    client.half_close().await;
    assert_eq!(client.read_to_end().await, "");
    let mut client = Raw::connect(proxy.address).await;
    client.half_close().await;
    assert_eq!(client.read_to_end().await, "");
    while proxy.metrics.open_connections() > 0 {
        tokio::task::yield_now().await;
    }
}
