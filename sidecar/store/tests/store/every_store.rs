//! A rule is written once and held over memory and over Redis.

/// Makes two tests of each rule, an async function of two stores that count together: what two sidecars have.
macro_rules! for_every_store {
    ($($rule:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let store = weir_store::Store::Memory(weir_store::MemoryStore::default());
                super::$rule(store.clone(), store).await;
            })*
        }
        mod redis {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                let server = crate::server::Server::start();
                let patient = || crate::subject::patient(&server.url());
                super::$rule(patient(), patient()).await;
                server.assert_every_key_has_a_ttl();
            })*
        }
    };
}
