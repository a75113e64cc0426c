//! The way out: preStop, then SIGTERM, while requests come.
use super::app::App;
use super::client::{Connection, get};
use super::policies::{PolicyFile, per_user};
use super::sidecar::{Sidecar, program};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[tokio::test(flavor = "multi_thread")]
async fn pre_stop_closes_connections_one_by_one_and_fails_no_request() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(1_000_000)));
    let mut sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let stop = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..4)
        .map(|_| {
            let (mut connection, stop) = (Connection::to(sidecar.listen), stop.clone());
            tokio::spawn(async move {
                let mut closing = 0;
                while !stop.load(Ordering::Relaxed) {
                    let answer = connection.get("/", &[("x-user", "load")]).await.unwrap();
                    assert_eq!(answer.status, 200);
                    closing += u64::from(answer.header("connection") == Some("close"));
                }
                closing
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let local = sidecar.local.to_string();
    let told = program().args(["drain", "--admin-local", &local]).output().unwrap();
    assert!(told.status.success(), "{told:?}");
    // the application still serves, new connections included
    let answer = get(sidecar.listen, "/", &[("x-user", "new")]).await;
    assert_eq!((answer.status, answer.header("connection")), (200, Some("close")));
    assert_eq!(get(sidecar.admin, "/ready", &[]).await.status, 503);
    assert_eq!(get(sidecar.admin, "/live", &[]).await.status, 200);
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.store(true, Ordering::Relaxed);
    for client in load {
        assert!(client.await.unwrap() > 0, "a connection was kept while draining");
    }
    sidecar.signal("TERM");
    assert_eq!(sidecar.ends().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_lets_requests_in_flight_end() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(1_000_000)));
    let mut sidecar = Sidecar::start(app.address, &["--policy", file.flag()]);
    let in_flight: Vec<_> = (0..8)
        .map(|_| {
            let mut connection = Connection::to(sidecar.listen);
            tokio::spawn(async move { connection.get("/slow", &[("x-user", "ann")]).await.map(|answer| answer.status) })
        })
        .collect();
    while app.served() < 8 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    sidecar.signal("TERM");
    for request in in_flight {
        assert_eq!(request.await.unwrap(), Ok(200));
    }
    assert_eq!(sidecar.ends().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_connection_does_not_hold_the_end_up() {
    let (app, file) = (App::start().await, PolicyFile::new(&per_user(1_000_000)));
    let mut sidecar = Sidecar::start(app.address, &["--policy", file.flag(), "--drain-grace", "50s"]);
    let mut idle = Connection::to(sidecar.listen);
    assert_eq!(idle.get("/", &[]).await.unwrap().status, 200);
    let began = Instant::now();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ends().await, 0);
    assert!(began.elapsed() < Duration::from_secs(40), "waited for an idle connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_grace_ends_and_with_it_the_sidecar() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let file = PolicyFile::new(&per_user(1_000_000));
    let mut sidecar =
        Sidecar::start(silent.local_addr().unwrap(), &["--policy", file.flag(), "--drain-grace", "300ms"]);
    let mut connection = Connection::to(sidecar.listen);
    let stuck = tokio::spawn(async move { connection.get("/", &[]).await.map(|answer| answer.status) });
    let _kept = silent.accept().await.unwrap();
    sidecar.signal("TERM");
    assert_eq!(sidecar.ends().await, 0);
    assert_ne!(stuck.await.unwrap(), Ok(200), "nobody answered this request");
}
