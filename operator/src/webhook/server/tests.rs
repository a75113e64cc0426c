//! The server as the API server meets it: TLS, time-outs, sizes, and answers to what makes no sense.

use http_body_util::StreamBody;
use hyper::body::Frame;
use prometheus_client::registry::Registry;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;

use super::*;
use crate::certificate::KeyMaterial;
use crate::inject::{CaptureMode, Injector, NamespaceFacts};
use crate::webhook::{Namespaces, WebhookMetrics};

const NAME: &str = "weir-operator.weir-system.svc";

fn webhook() -> (Webhook, Registry) {
    let mut registry = Registry::default();
    let metrics = WebhookMetrics::register(&mut registry);
    let shop = NamespaceFacts { name: "shop".into(), ..NamespaceFacts::default() };
    let injector =
        Injector { sidecar_image: "weir.test/sidecar:1".into(), image_pull_policy: None, capture: CaptureMode::Auto };
    (Webhook { injector, namespaces: Namespaces::fixed([shop]), metrics }, registry)
}

fn review(namespace: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "someone"},
            "object": {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"generateName": "shop-", "annotations": {"weir.dev/inject": "true"}},
                "spec": {"containers": [{"name": "app", "image": "a", "ports": [{"containerPort": 8080}]}]},
            },
            "oldObject": null,
            "options": null,
        },
    })
}

async fn post(webhook: &Webhook, path: &str, body: impl Into<Bytes>) -> (StatusCode, Value) {
    let request = Request::post(path).body(Full::new(body.into())).unwrap();
    read(respond(request, webhook).await).await
}

async fn read(response: Response<Full<Bytes>>) -> (StatusCode, Value) {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn exposed(registry: &Registry) -> String {
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
    text
}

#[tokio::test]
async fn a_pod_that_asks_gets_a_patch_under_the_uid_of_its_review() {
    let (webhook, registry) = webhook();
    let (status, answer) = post(&webhook, "/mutate?timeout=3s", review("shop").to_string()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(answer["response"]["uid"], "705ab4f5");
    assert_eq!(answer["response"]["allowed"], true);
    assert_eq!(answer["response"]["patchType"], "JSONPatch");
    assert!(exposed(&registry).contains(r#"weir_webhook_reviews_total{webhook="mutate",outcome="injected"} 1"#));
}

#[tokio::test]
async fn what_makes_no_sense_is_answered_by_a_review_that_says_so() {
    let (webhook, registry) = webhook();
    let mut old = review("shop");
    old["apiVersion"] = json!("admission.k8s.io/v1beta1");
    let mut no_object = review("shop");
    no_object["request"]["object"] = Value::Null;
    let cases = [
        ("/mutate", "{", "no AdmissionReview"),
        ("/mutate", "[]", "no AdmissionReview"),
        ("/mutate", &old.to_string(), "only admission.k8s.io/v1"),
        ("/mutate", &no_object.to_string(), "no object"),
        ("/validate", &review("shop").to_string(), "RateLimitPolicy"),
    ];
    let count = cases.len();
    for (path, body, said) in cases {
        let (status, answer) = post(&webhook, path, body.to_owned()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(answer["kind"], "AdmissionReview", "{body}");
        assert_eq!(answer["response"]["allowed"], false);
        let message = answer["response"]["status"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    }
    let text = exposed(&registry);
    assert!(text.contains(&format!(r#"{{webhook="mutate",outcome="failed"}} {}"#, count - 1)), "{text}");
}

#[tokio::test]
async fn a_namespace_that_nobody_knows_fails_the_review_and_names_it() {
    let (status, answer) = post(&webhook().0, "/mutate", review("elsewhere").to_string()).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(answer["response"]["uid"], "705ab4f5");
    assert!(answer["response"]["status"]["message"].as_str().unwrap().contains("elsewhere"));
}

#[tokio::test]
async fn a_review_that_is_too_large_is_refused() {
    let (status, answer) = post(&webhook().0, "/mutate", vec![b' '; LARGEST_BODY + 1]).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(answer["response"]["allowed"], false);
}

#[tokio::test]
async fn a_review_that_never_ends_is_answered_within_the_bound() {
    let begun = clock::instant();
    let endless = StreamBody::new(futures_util::stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let (webhook, _) = webhook();
    let (status, answer) = read(respond(Request::post("/validate").body(endless).unwrap(), &webhook).await).await;
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(answer["response"]["status"]["message"], "no answer within 2.5 s");
    assert!(begun.elapsed() >= ANSWERED_WITHIN);
}

#[tokio::test]
async fn other_paths_and_methods_are_told_what_would_be_right() {
    let (webhook, _) = webhook();
    assert_eq!(post(&webhook, "/", "").await.0, StatusCode::NOT_FOUND);
    let get = Request::get("/mutate").body(Full::new(Bytes::new())).unwrap();
    assert_eq!(respond(get, &webhook).await.status(), StatusCode::METHOD_NOT_ALLOWED);
}

/// One review over TLS, trusting `ca` alone.
async fn ask(address: std::net::SocketAddr, ca: &str) -> Result<StatusCode, String> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.map_err(|e| e.to_string())?;
    let name = ServerName::try_from(NAME).unwrap();
    let tls = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|e| e.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(tls)).await.map_err(|e| e.to_string())?;
    tokio::spawn(connection);
    let request = Request::post("/mutate")
        .header(header::HOST, NAME)
        .body(Full::new(Bytes::from(review("shop").to_string())))
        .unwrap();
    sender.send_request(request).await.map(|response| response.status()).map_err(|e| e.to_string())
}

#[tokio::test]
async fn another_certificate_is_served_without_a_restart_and_stopping_ends_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let certificate = ServingCertificate::none_yet();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, certificate.clone(), Arc::new(webhook().0), async {
        let _ = stopped.await;
    }));

    let now = clock::now();
    let first = KeyMaterial::generate(now, &[NAME.into()]).unwrap();
    assert!(ask(address, first.ca_pem()).await.is_err(), "nothing is served before there is a certificate");
    certificate.serve(&first).unwrap();
    assert_eq!(ask(address, first.ca_pem()).await, Ok(StatusCode::OK));

    let second = KeyMaterial::generate(now, &[NAME.into()]).unwrap();
    certificate.serve(&second).unwrap();
    assert_eq!(ask(address, second.ca_pem()).await, Ok(StatusCode::OK));
    assert!(ask(address, first.ca_pem()).await.is_err(), "the first CA is no longer good");

    stop.send(()).unwrap();
    server.await.unwrap().unwrap();
    assert!(ask(address, second.ca_pem()).await.is_err(), "the server is gone");
}
