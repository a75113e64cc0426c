//! Heartbeats from the sidecars' side to the operator's.

use weir_store::{HEARTBEAT_TTL_SECONDS, Heartbeat, Namespace, PolicyReport, RejectedPolicy};

use crate::server::Server;
use crate::subject::{patient, shop};

fn heartbeat(pod: &str, generation: i64) -> Heartbeat {
    let mut heartbeat = Heartbeat::new(pod, "00ff00ff", "connected");
    heartbeat.policies.push(PolicyReport { uid: "policy".to_owned(), generation });
    heartbeat
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_reads_the_last_report_of_each_pod_that_has_one() {
    let server = Server::start();
    let (sidecar, operator) = (patient(&server.url()), patient(&server.url()));
    let mut refusing = heartbeat("pod-2", 4);
    refusing.rejected.push(RejectedPolicy { uid: "other".to_owned(), generation: 1, message: "no".to_owned() });
    sidecar.report(&shop(), &heartbeat("pod-1", 1)).await.unwrap();
    sidecar.report(&shop(), &heartbeat("pod-1", 2)).await.unwrap();
    sidecar.report(&shop(), &refusing).await.unwrap();
    let read = operator.heartbeats(&shop(), &["pod-0", "pod-1", "pod-2"]).await.unwrap();
    assert_eq!(read, [heartbeat("pod-1", 2), refusing]);
    let other = Namespace::new("other").unwrap();
    assert_eq!(operator.heartbeats(&other, &["pod-1"]).await.unwrap(), []);
    assert_eq!(operator.heartbeats::<&str>(&shop(), &[]).await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heartbeat_ends_by_itself() {
    let server = Server::start();
    patient(&server.url()).report(&shop(), &heartbeat("pod-1", 1)).await.unwrap();
    server.assert_every_key_has_a_ttl();
    let ttl: i64 = server.ask(&["PTTL", "weir:{shop}:hb:pod-1"]);
    assert!(ttl <= i64::from(HEARTBEAT_TTL_SECONDS) * 1000, "{ttl}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_heartbeat_is_passed_over() {
    let server = Server::start();
    let _: () = server.ask(&["SET", "weir:{shop}:hb:pod-1", "garbage"]);
    let store = patient(&server.url());
    assert_eq!(store.heartbeats(&shop(), &["pod-1"]).await.unwrap(), []);
    store.ping().await.unwrap();
}
