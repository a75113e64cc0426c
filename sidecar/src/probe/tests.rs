//! Probes against an application on a real socket.
use super::*;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// An application that answers every request with the next of `answers` (the last one stays) and keeps what it was asked.
struct App {
    port: u16,
    asked: Arc<std::sync::Mutex<Vec<String>>>,
}

async fn app(answers: &'static [&'static str]) -> App {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let (seen, turn) = (asked.clone(), AtomicUsize::new(0));
    tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if socket.read(&mut byte).await.unwrap() == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            seen.lock().unwrap().push(String::from_utf8(head).unwrap());
            let answer = answers[turn.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1)];
            socket.write_all(format!("HTTP/1.1 {answer}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
        }
    });
    App { port, asked }
}

fn http_probe(port: u16, more: &str) -> Probes {
    let json =
        format!(r#"[{{"container":"app","kind":"readiness","http":{{"port":{port},"path":"/healthz"{more}}}}}]"#);
    Probes::parse(&json).unwrap()
}

async fn verdict(probes: &Probes) -> u16 {
    probes.verdict("app", "readiness", HERE).await.unwrap().as_u16()
}

#[tokio::test]
async fn the_original_headers_go_out_and_host_exactly_once() {
    let app = app(&["200 OK"]).await;
    let headers = r#","httpHeaders":[{"name":"Host","value":"shop.example"},{"name":"X-Probe","value":"a"},{"name":"X-Probe","value":"b"}]"#;
    assert_eq!(verdict(&http_probe(app.port, headers)).await, 200);
    let asked = app.asked.lock().unwrap()[0].clone();
    assert!(asked.starts_with("GET /healthz HTTP/1.1\r\n"), "{asked}");
    assert_eq!(asked.to_lowercase().matches("\r\nhost:").count(), 1, "{asked}");
    assert!(asked.contains("\r\nHost: shop.example\r\n"), "{asked}");
    assert!(asked.contains("\r\nX-Probe: a\r\n") && asked.contains("\r\nX-Probe: b\r\n"), "{asked}");
}

#[tokio::test]
async fn the_applications_status_is_the_verdict() {
    let app = app(&["503 Service Unavailable"]).await;
    assert_eq!(verdict(&http_probe(app.port, "")).await, 503);
}

#[tokio::test]
async fn a_verdict_is_reused_and_concurrent_callers_ask_once() {
    let app = app(&["200 OK"]).await;
    let probes = Arc::new(http_probe(app.port, ""));
    let callers: Vec<_> = (0..20)
        .map(|_| {
            let probes = probes.clone();
            tokio::spawn(async move { verdict(&probes).await })
        })
        .collect();
    let began = clock::now();
    for caller in callers {
        assert_eq!(caller.await.unwrap(), 200);
    }
    let asked = app.asked.lock().unwrap().len();
    // once, and on a machine that took longer than that once more for each 500 ms
    assert!(asked as u128 <= 1 + began.elapsed().as_millis() / 500, "asked {asked} times");
}

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed_to_its_verdict() {
    let app = app(&["302 Found\r\nlocation: /real", "500 Broken"]).await;
    assert_eq!(verdict(&http_probe(app.port, "")).await, 500);
    assert!(app.asked.lock().unwrap()[1].starts_with("GET /real "));
}

#[tokio::test]
async fn a_redirect_to_another_host_counts_as_it_stands() {
    let app = app(&["302 Found\r\nlocation: http://shop.example/login"]).await;
    assert_eq!(verdict(&http_probe(app.port, "")).await, 302);
}

#[tokio::test]
async fn a_silent_application_is_504_after_the_probes_own_timeout() {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let began = clock::now();
    assert_eq!(verdict(&http_probe(listener.local_addr().unwrap().port(), "")).await, 504);
    assert!(began.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_tcp_probe_tells_whether_the_application_listens() {
    let listener = TcpListener::bind((HERE, 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let json = format!(r#"[{{"container":"app","kind":"readiness","tcp":{{"port":{port}}}}}]"#);
    assert_eq!(verdict(&Probes::parse(&json).unwrap()).await, 200);
    drop(listener);
    assert_eq!(verdict(&Probes::parse(&json).unwrap()).await, 502);
}

#[tokio::test]
async fn only_recorded_probes_are_run() {
    assert_eq!(http_probe(1, "").verdict("app", "liveness", HERE).await, None);
    assert_eq!(http_probe(1, "").verdict("other", "readiness", HERE).await, None);
}

#[test]
fn a_wrong_list_is_refused_by_container_and_kind() {
    for (json, says) in [
        ("{}", "write [{"),
        (r#"[{"container":"app","kind":"readiness"}]"#, "app/readiness: has to have exactly one of http and tcp"),
        (
            r#"[{"container":"app","kind":"readiness","http":{"port":"web"}}]"#,
            "app/readiness: port \"web\" is not a number",
        ),
        (r#"[{"container":"app","kind":"readiness","tcp":{"port":0}}]"#, "app/readiness: port 0 is not a number"),
        (r#"[{"container":"app","kind":"liveness","http":{"port":1,"scheme":"HTTPS"}}]"#, "app/liveness: scheme HTTPS"),
        (r#"[{"container":"app","kind":"liveness","http":{"port":1,"host":"a.b"}}]"#, "app/liveness: host a.b"),
        (r#"[{"container":"app","kind":"liveness","grpc":{"port":1}}]"#, "grpc"),
    ] {
        let error = Probes::parse(json).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
