use kube::core::DynamicObject;
use kube::runtime::watcher::Event;

use super::cache::Key;
use super::facts::PolicyFacts;
use super::*;
use crate::leader::Lead;
use crate::store_secret::Source;

/// An API server that takes connections and never answers.
fn silent() -> (std::net::TcpListener, Client) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::try_from(kube::Config::new(url)).unwrap();
    (listener, client)
}

fn secret() -> Arc<StoreSecret> {
    let folder = tempfile::tempdir().unwrap();
    let install_key_file = folder.path().join("key");
    std::fs::write(&install_key_file, "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=").unwrap();
    let source = Source { url: "redis://redis:6379/0".into(), password_file: None, ca_file: None, install_key_file };
    Arc::new(source.read().unwrap())
}

#[tokio::test]
async fn a_request_that_is_never_answered_does_not_keep_a_namespace_from_being_looked_at_again() {
    let (_listener, client) = silent();
    let store = Store::open(None, weir_store::Credentials::None, Arc::new(())).unwrap();
    let (metrics, ()) = Metrics::new(|_| ());
    let metrics = Arc::new(metrics);
    let queue = Arc::new(Queue::default());
    let (caches, mut policies) = Caches::unfed();
    let policy = serde_json::json!({"metadata": {"name": "api", "namespace": "shop", "uid": "u"}, "spec": {}});
    policies.take(Event::Apply(serde_json::from_value(policy).unwrap()), |policy: &DynamicObject| {
        (Key { namespace: "shop".into(), name: "api".into() }, PolicyFacts::read(policy))
    });
    let secrets = tokio::sync::watch::Sender::new(secret());
    let (_sender, lead) = Lead::held_for(Duration::from_secs(3600));
    let reporter = Reporter { instance: "operator-1".into() };
    let (caches, secret) = ((caches, queue.clone()), secrets.subscribe());
    let mut controller = Controller::new(client, store, lead, caches, secret, reporter, metrics.clone());
    controller.look_within = Duration::from_millis(100);
    queue.touch("shop");
    let looked_twice = async {
        while !metrics.encode().contains(r#"weir_reconciles_total{result="timeout"} 2"#) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = controller.run() => {}
        () = looked_twice => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("no second look: {}", metrics.encode()),
    }
}
