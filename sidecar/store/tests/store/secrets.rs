//! Credentials in a mounted Secret: late, wrong, corrected, rotated.

use std::sync::Arc;

use weir_store::{Credentials, InstallKey, Reason, Store, StoreStatus};

use crate::secret::Secret;
use crate::server::Server;
use crate::subject::{check, shop, until, until_decided, window};

fn open(secret: &Secret) -> Store {
    Store::open(None, Credentials::Folder(secret.folder()), Arc::new(())).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_named_and_a_corrected_secret_heals_it() {
    let server = Server::with(&["--requirepass", "right"]);
    let url = server.url();
    let mut secret = Secret::holding(&[("url", &url), ("password", "wrong")]);
    let store = open(&secret);
    until("wrongpass", || store.status() == StoreStatus::Failing(Reason::Wrongpass)).await;
    secret.swap(&[("url", &url), ("password", "right\n")]);
    until_decided(&store).await;
    until("the status says so", || store.status() == StoreStatus::Connected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_its_secret_a_store_is_not_configured_and_connects_when_it_appears() {
    let server = Server::start();
    let mut secret = Secret::absent();
    let store = open(&secret);
    until("not configured", || store.status() == StoreStatus::Failing(Reason::NotConfigured)).await;
    let error = store.decide(&[check("a", window(1))]).await.unwrap_err();
    assert_eq!(error.reason(), "not_configured");
    secret.swap(&[("url", &server.url())]);
    until("it connects", || store.status() == StoreStatus::Connected).await;
    until_decided(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_that_can_t_be_used_is_named_and_a_corrected_one_heals_it() {
    let server = Server::start();
    let mut secret = Secret::holding(&[("url", "http://nonsense")]);
    let store = open(&secret);
    until("credentials", || store.status() == StoreStatus::Failing(Reason::Credentials)).await;
    secret.swap(&[("url", &server.url())]);
    until_decided(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_changed_before_its_server_costs_no_decision_and_is_taken_when_it_works() {
    let server = Server::start();
    let set =
        |password: &str| -> () { server.ask(&["ACL", "SETUSER", "me", "on", "resetpass", password, "~*", "+@all"]) };
    let connected = || -> Vec<String> {
        let list: String = server.ask(&["CLIENT", "LIST"]);
        let mine = list.lines().filter(|line| line.contains(" user=me "));
        mine.filter_map(|line| line.split_whitespace().next().map(ToOwned::to_owned)).collect()
    };
    set(">one");
    let (url, user) = (server.url(), ("user", "me"));
    let mut secret = Secret::holding(&[("url", &url), user, ("password", "one")]);
    let store = open(&secret);
    until_decided(&store).await;
    let before = connected();
    assert_eq!(before.len(), 1);
    secret.swap(&[("url", &url), user, ("password", "two")]);
    until("the new password is tried", || server.ask::<String>(&["INFO", "errorstats"]).contains("WRONGPASS")).await;
    assert_eq!((connected(), store.status()), (before.clone(), StoreStatus::Connected));
    set(">two");
    until("the new password is in use", || matches!(&connected()[..], [one] if *one != before[0])).await;
    until_decided(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_in_the_secret_is_taken_without_a_restart() {
    let (first, second) = (Server::start(), Server::start());
    let mut secret = Secret::holding(&[("url", &first.url())]);
    let store = open(&secret);
    until_decided(&store).await;
    secret.swap(&[("url", &second.url())]);
    until("the first server is left", || first.ask::<String>(&["CLIENT", "LIST"]).lines().count() == 1).await;
    until_decided(&store).await;
    assert_eq!(second.ask::<usize>(&["DBSIZE"]), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_install_key_of_the_secret_keys_the_states_from_the_first_request_on() {
    let server = Server::start();
    let key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    let mut secret = Secret::holding(&[("url", &server.url()), ("install-key", key)]);
    let store = open(&secret);
    assert_eq!(store.install_key(), InstallKey::from_bytes([1; 32]));
    let before = store.state_key(&shop(), b"identity");
    until_decided(&store).await;
    secret.swap(&[("url", &server.url())]);
    until("the key has changed", || store.install_key() == InstallKey::ZEROS).await;
    assert_ne!(store.state_key(&shop(), b"identity"), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_file_is_read_again_for_each_connection() {
    let server = Server::with(&["--requirepass", "right"]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    std::fs::write(&file, "wrong").unwrap();
    let credentials = Credentials::Files { password: Some(file.clone()), ca: None };
    let store = Store::open(Some(&server.url()), credentials, Arc::new(())).unwrap();
    until("wrongpass", || store.status() == StoreStatus::Failing(Reason::Wrongpass)).await;
    std::fs::write(&file, "right\n").unwrap();
    until_decided(&store).await;
}
