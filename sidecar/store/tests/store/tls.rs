//! TLS with a private CA.

use std::sync::Arc;

use weir_store::{Credentials, Reason, Store, StoreStatus};

use crate::certificates::Certificates;
use crate::secret::Secret;
use crate::server::Server;
use crate::subject::{check, until, until_decided, window};

fn url(server: &Server) -> String {
    format!("rediss://127.0.0.1:{}", server.port())
}

fn open(secret: &Secret) -> Store {
    Store::open(None, Credentials::Folder(secret.folder()), Arc::new(())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_a_certificate_of_the_secret_s_ca_is_trusted() {
    let certificates = Certificates::new("127.0.0.1");
    let server = certificates.server();
    let secret = Secret::holding(&[("url", &url(&server)), ("ca.crt", &certificates.ca_pem)]);
    let store = open(&secret);
    until_decided(&store).await;
    assert!(store.decide(&[check("a", window(1))]).await.unwrap().admitted);
    assert!(!store.decide(&[check("a", window(1))]).await.unwrap().admitted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ca_file_does_as_well_as_a_secret() {
    let certificates = Certificates::new("127.0.0.1");
    let server = certificates.server();
    let credentials = Credentials::Files { password: None, ca: Some(certificates.path("ca.crt")) };
    until_decided(&Store::open(Some(&url(&server)), credentials, Arc::new(())).unwrap()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_of_another_ca_or_for_another_name_is_refused_and_named() {
    let certificates = Certificates::new("redis.example");
    let server = certificates.server();
    let stranger = Certificates::new("127.0.0.1");
    for ca in [&certificates.ca_pem, &stranger.ca_pem] {
        let secret = Secret::holding(&[("url", &url(&server)), ("ca.crt", ca)]);
        let store = open(&secret);
        until("tls", || store.status() == StoreStatus::Failing(Reason::Tls)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ca_that_is_no_certificate_is_named() {
    let server = Certificates::new("127.0.0.1").server();
    let secret = Secret::holding(&[("url", &url(&server)), ("ca.crt", "not PEM")]);
    let store = open(&secret);
    until("tls", || store.status() == StoreStatus::Failing(Reason::Tls)).await;
}
