//! A message arrives as it was sent, but for what belongs to one connection.
use super::application::Application;
use super::fixture::{Fixture, limits};
use super::raw::{Raw, exchange, header, status};
use weir_sidecar::proxy::{ForwardedFor, ProxyLimits};

/// What the application saw of a request.
async fn seen(request: &str) -> String {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(request).await;
    let (head, body) = client.read_message().await;
    assert_eq!(status(&head), 200, "{head}");
    body
}

/// What a client sees of an answer.
async fn told(request: &str, answer: &'static str) -> String {
    let application = Application::answering(answer).await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(request).await;
    client.read_head().await
}

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[tokio::test]
async fn the_target_and_the_names_of_headers_arrive_as_they_were_sent() {
    let sent = "PROPFIND /a/../b//%2e%2F;x?q=%zz&{\"j\"} HTTP/1.1\r\nHOST: Example.com:80\r\nX-CamelCase: Value \t\r\nx-lower: ü\r\n\r\n";
    let sent = sent.replace("{\"j\"}", "{j}");
    let seen = seen(&sent).await;
    assert!(seen.starts_with("PROPFIND /a/../b//%2e%2F;x?q=%zz&{j} HTTP/1.1\r\n"), "{seen}");
    assert!(seen.contains("\r\nHOST: Example.com:80\r\n"), "{seen}");
    assert!(seen.contains("\r\nX-CamelCase: Value\r\n") && seen.contains("\r\nx-lower: ü\r\n"), "{seen}");
}

#[tokio::test]
async fn a_request_gains_nothing_but_x_forwarded_for() {
    let seen = seen(GET).await;
    assert_eq!(seen, "GET / HTTP/1.1\r\nHost: a\r\nx-forwarded-for: 127.0.0.1\r\n\r\n");
}

#[tokio::test]
async fn a_present_x_forwarded_for_stays_unless_the_peer_is_to_be_appended() {
    let request = "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n";
    assert_eq!(header(&seen(request).await, "x-forwarded-for"), Some("192.0.2.1"));
    let application = Application::echo().await;
    let appending = ProxyLimits { forwarded_for: ForwardedFor::Append, ..limits() };
    let proxy = Fixture::with(application.address, appending).await;
    let mut client = Raw::connect(proxy.address).await;
    client.write(request.replace("\r\n\r\n", "\r\nx-forwarded-for: 192.0.2.2\r\n\r\n")).await;
    let (_, body) = client.read_message().await;
    assert_eq!(header(&body, "x-forwarded-for"), Some("192.0.2.1, 192.0.2.2, 127.0.0.1"), "{body}");
}

#[tokio::test]
async fn what_belongs_to_the_connection_does_not_go_on() {
    let seen = seen(
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Secret, Host, X-User, Cookie\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Connection: keep-alive\r\nX-Secret: 1\r\nX-User: u\r\nCookie: c\r\nTE: gzip, trailers\r\nProxy-Authorization: p\r\n\r\n",
    )
    .await;
    for gone in ["x-secret", "keep-alive", "proxy-connection"] {
        assert_eq!(header(&seen, gone), None, "{seen}");
    }
    for (kept, value) in
        [("host", "a"), ("x-user", "u"), ("cookie", "c"), ("te", "trailers"), ("proxy-authorization", "p")]
    {
        assert_eq!(header(&seen, kept), Some(value), "{seen}");
    }
    assert_eq!(header(&seen, "connection"), Some("te"));
    let head = told(
        GET,
        "HTTP/1.1 200 OK\r\nConnection: X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    assert_eq!(
        (header(&head, "x-secret"), header(&head, "keep-alive"), header(&head, "connection")),
        (None, None, None)
    );
    assert_eq!(header(&head, "proxy-authenticate"), Some("Basic"));
}

#[tokio::test]
async fn a_url_as_target_goes_on_and_replaces_host() {
    let seen = seen("GET http://b.example:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(seen.starts_with("GET http://b.example:81/x?y HTTP/1.1\r\n"), "{seen}");
    assert_eq!(header(&seen, "host"), Some("b.example:81"));
}

#[tokio::test]
async fn the_application_is_spoken_to_in_the_client_s_version() {
    let application = Application::start(|_, mut raw| async move {
        let head = raw.read_head().await;
        raw.write(format!("HTTP/1.0 200 OK\r\n\r\n{head}")).await;
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let answer = exchange(proxy.address, "GET /old HTTP/1.0\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.0 200 OK\r\n"), "{answer}");
    assert!(answer.contains("\r\n\r\nGET /old HTTP/1.0\r\n"), "{answer}");
    assert_eq!(header(&answer, "transfer-encoding"), None);
    let answer = exchange(proxy.address, "GET /new HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.contains("GET /new HTTP/1.1\r\n"), "{answer}");
    assert_eq!(header(&answer, "connection"), Some("close"));
}

#[tokio::test]
async fn http_1_0_is_kept_alive_when_both_sides_say_so() {
    let application = Application::start(|_, mut raw| async move {
        loop {
            let head = raw.read_head().await;
            assert_eq!(header(&head, "connection"), Some("keep-alive"));
            raw.write("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..2 {
        client.write("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").await;
        let head = client.read_head().await;
        assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
        assert_eq!(header(&head, "connection"), Some("keep-alive"));
    }
}

#[tokio::test]
async fn an_answer_arrives_as_it_was_sent() {
    let head = told(GET, "HTTP/1.1 200 Quite Alright\r\nX-CamelCase: v\r\nDate: then\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(
        head,
        "HTTP/1.1 200 Quite Alright\r\nX-CamelCase: v\r\nDate: then\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n"
    );
    let head = told(GET, "HTTP/1.1 418 \r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(status(&head), 418);
    assert!(header(&head, "date").is_some(), "{head}");
    assert_eq!((header(&head, "server"), header(&head, "via")), (None, None));
}

#[tokio::test]
async fn an_answer_without_a_body_keeps_the_length_it_tells_of() {
    let head = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
    for (request, answer, length) in [
        (head, "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n", Some("12345")),
        (head, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        (GET, "HTTP/1.1 304 Not Modified\r\nContent-Length: 777\r\nETag: \"x\"\r\n\r\n", Some("777")),
        (GET, "HTTP/1.1 204 No Content\r\n\r\n", None),
    ] {
        let application = Application::answering(answer).await;
        let proxy = Fixture::before(application.address).await;
        let mut client = Raw::connect(proxy.address).await;
        for _ in 0..2 {
            client.write(request).await;
            let head = client.read_head().await;
            assert_eq!(status(&head), status(answer));
            assert_eq!(header(&head, "content-length"), length, "{head}");
        }
        assert_eq!(application.connections(), 1);
    }
}

#[tokio::test]
async fn limit_headers_are_put_on_what_was_counted() {
    let counted = "GET / HTTP/1.1\r\nHost: a\r\nX-Count: 1\r\n\r\n";
    let head = told(counted, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(header(&head, "x-ratelimit-remaining"), Some("19"));
    let head = told(counted, "HTTP/1.1 200 OK\r\nX-RateLimit-Limit: 5\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!((header(&head, "x-ratelimit-limit"), header(&head, "x-ratelimit-remaining")), (Some("5"), None));
}

#[tokio::test]
async fn a_refusal_is_whole_and_keeps_the_connection() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut client = Raw::connect(proxy.address).await;
    for _ in 0..3 {
        client.write("POST / HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\nContent-Length: 5\r\n\r\nhello").await;
        let (head, body) = client.read_message().await;
        assert_eq!((status(&head), header(&head, "retry-after"), &*body), (429, Some("7"), "too many"));
        client.write("HEAD / HTTP/1.1\r\nHost: a\r\nX-Refuse: 1\r\n\r\n").await;
        let head = client.read_head().await;
        assert_eq!((status(&head), header(&head, "content-length")), (429, Some("8")));
    }
    assert_eq!(application.connections(), 0);
}

#[tokio::test]
async fn a_panic_is_one_request_s_500() {
    let application = Application::echo().await;
    let proxy = Fixture::before(application.address).await;
    let mut other = Raw::connect(proxy.address).await;
    other.write(GET).await;
    other.read_message().await;
    let answer = exchange(proxy.address, "GET / HTTP/1.1\r\nHost: a\r\nX-Panic: 1\r\n\r\n").await;
    assert_eq!(status(&answer), 500);
    other.write(GET).await;
    assert_eq!(status(&other.read_message().await.0), 200);
    assert_eq!((proxy.metrics.panics(), proxy.metrics.answers(5), proxy.metrics.answers(2)), (1, 1, 2));
}
