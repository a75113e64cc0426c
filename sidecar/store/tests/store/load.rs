//! Redis under load: many tasks, several stores, scripts flushed.

use weir_limiter::{Check, Limit, Verdict};
use weir_store::{StateKey, Store};

use crate::server::Server;
use crate::subject::{bucket, charges, check, every_kind, patient, shop, until, until_decided, window};

/// Asks under a limit from 64 tasks on eight stores, as eight sidecars would: what each admitted request was told remains, by
/// key, in order.
async fn told(server: &Server, name: &str, limit: Limit, keys: usize) -> Vec<Vec<u64>> {
    let stores: Vec<Store> = (0..8).map(|_| patient(&server.url())).collect();
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..64 {
        let store = stores[caller % 8].clone();
        let checks: Vec<_> = (0..keys).map(|key| [check(&format!("{name}, {key} of {keys}"), limit)]).collect();
        callers.spawn(async move {
            let mut told = vec![vec![]; keys];
            for step in 0..48 {
                let key = (caller + step) % keys;
                let decision = store.decide(&checks[key]).await.unwrap();
                assert_eq!(decision.admitted, decision.outcomes[0].verdict == Verdict::Pass);
                told[key].extend(decision.admitted.then_some(decision.outcomes[0].remaining));
            }
            told
        });
    }
    let mut all = vec![vec![]; keys];
    for told in callers.join_all().await {
        all.iter_mut().zip(told).for_each(|(all, told)| all.extend(told));
    }
    all.iter_mut().for_each(|told| told.sort_unstable());
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_stores_admit_exactly_what_every_variant_allows_and_deal_out_each_remainder_once() {
    let server = Server::start();
    for keys in [1, 20] {
        for (name, limit) in every_kind(50) {
            // a queue has nobody wait as long as its next unit takes
            let expected: Vec<u64> = if limit.max_wait().is_some() { vec![0] } else { (0..50).collect() };
            for (key, told) in told(&server, name, limit, keys).await.into_iter().enumerate() {
                assert_eq!(told, expected, "{name}, {key} of {keys}");
            }
        }
    }
    server.assert_every_key_has_a_ttl();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_tasks_on_several_stores_admit_exactly_the_limit() {
    let server = Server::start();
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = patient(&server.url());
        for _ in 0..16 {
            let store = store.clone();
            callers.spawn(async move {
                let mut admitted = 0;
                for _ in 0..50 {
                    let checks = [check("bucket", bucket(1234)), check("window", window(2000))];
                    admitted += u32::from(store.decide(&checks).await.unwrap().admitted);
                }
                admitted
            });
        }
    }
    assert_eq!(callers.join_all().await.iter().sum::<u32>(), 1234);
    server.assert_every_key_has_a_ttl();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_flushed_under_load_are_not_noticed() {
    let server = Server::start();
    let store = patient(&server.url());
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let store = store.clone();
        callers.spawn(async move {
            let mut admitted = 0;
            for _ in 0..200 {
                admitted += u32::from(store.decide(&[check("a", window(1000))]).await.unwrap().admitted);
            }
            admitted
        });
    }
    let flushed = tokio::task::spawn_blocking(move || {
        for _ in 0..20 {
            let _: () = server.ask(&["SCRIPT", "FLUSH"]);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        server
    });
    assert_eq!(callers.join_all().await.iter().sum::<u32>(), 1000);
    drop(flushed.await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_keys_at_once_than_a_call_takes_are_all_decided() {
    let server = Server::start();
    let store = patient(&server.url());
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..6000 {
        let store = store.clone();
        callers.spawn(async move { store.decide(&[check(&caller.to_string(), window(1))]).await.unwrap().admitted });
    }
    assert!(callers.join_all().await.into_iter().all(|admitted| admitted));
    assert_eq!(server.ask::<usize>(&["DBSIZE"]), 6000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_with_the_namespace_s_rights_only_is_enough() {
    let server = Server::start();
    let rules = "on >secret resetkeys ~weir:{shop}:* -@all +auth +ping +evalsha +script|load +time +mget +psetex \
                 +set +getrange +setrange +pexpire";
    let words: Vec<&str> = ["ACL", "SETUSER", "shop"].into_iter().chain(rules.split_whitespace()).collect();
    let _: () = server.ask(&words);
    let store = patient(&format!("redis://shop:secret@127.0.0.1:{}", server.port()));
    assert!(store.decide(&[check("a", window(1)), check("b", bucket(1))]).await.unwrap().admitted);
    for (name, limit) in every_kind(2) {
        let all = [Check { cost: 2, ..check(name, limit) }];
        let first = store.decide(&all).await.unwrap();
        assert!(first.admitted && !store.decide(&all).await.unwrap().admitted, "{name}");
        // what is refused by the server comes to nobody's ears but is not given back
        store.refund(charges(&all, first));
        store.refunded().await;
        assert!(store.decide(&all).await.unwrap().admitted, "{name}");
    }
    store.report(&shop(), &weir_store::Heartbeat::new("pod", "id", "connected")).await.unwrap();
    assert_eq!(store.heartbeats(&shop(), &["pod"]).await.unwrap().len(), 1);
    let other = weir_store::Namespace::new("other").unwrap();
    let foreign = StateKey::new(&weir_store::InstallKey::ZEROS, &other, b"a");
    let refused = store.decide(&[Check { key: foreign, limit: window(1), cost: 1 }]).await;
    assert_eq!(refused.unwrap_err().reason(), "noperm");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_ends_with_the_last_clone_of_the_store() {
    let server = Server::start();
    let store = patient(&server.url());
    let clone = store.clone();
    until_decided(&store).await;
    drop(store);
    until_decided(&clone).await;
    drop(clone);
    until("only the test is connected", || server.ask::<String>(&["CLIENT", "LIST"]).lines().count() == 1).await;
}
