//! The CA in the webhook configurations: written by the leader under a field manager of its own, so that the chart, which never
//! renders `caBundle`, and the operator don't take it from each other. Has a client.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tracing::{info, warn};

use super::{CertificateError, CertificateSettings, ServingCertificate, in_time};

/// Owner of `caBundle` in the API server's books.
const FIELD_MANAGER: &str = "weir-operator-ca-bundle";
/// How often the leader looks whether somebody took the bundle out.
const LOOK_AGAIN: Duration = Duration::from_secs(10);
/// Pause after a failure.
const RETRY: Duration = Duration::from_secs(2);

/// Both kinds of configuration, as far as their webhooks matter here.
trait Configuration: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug {
    const KIND: &'static str;
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)>;
}

impl Configuration for MutatingWebhookConfiguration {
    const KIND: &'static str = "MutatingWebhookConfiguration";
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)> {
        self.webhooks.iter().flatten().map(|w| (w.name.as_str(), &w.client_config)).collect()
    }
}

impl Configuration for ValidatingWebhookConfiguration {
    const KIND: &'static str = "ValidatingWebhookConfiguration";
    fn webhooks(&self) -> Vec<(&str, &WebhookClientConfig)> {
        self.webhooks.iter().flatten().map(|w| (w.name.as_str(), &w.client_config)).collect()
    }
}

/// Writes the served CA into every webhook of both configurations; nothing is sent where it already stands. The leader's.
///
/// # Errors
/// When nothing is served yet, a configuration is missing, or the API server refuses.
pub async fn apply_ca_bundle(
    client: &Client,
    settings: &CertificateSettings,
    serving: &ServingCertificate,
) -> Result<(), CertificateError> {
    let ca = serving.ca_pem().ok_or(CertificateError::NotServing)?;
    in_time(async {
        apply::<MutatingWebhookConfiguration>(client, &settings.mutating_webhook, &ca).await?;
        apply::<ValidatingWebhookConfiguration>(client, &settings.validating_webhook, &ca).await
    })
    .await
}

/// Keeps the served CA in both configurations for as long as it runs: at once, whenever another certificate is served, and
/// every 10 s in case somebody took it out. The leader runs it, and drops it when it no longer leads.
pub async fn keep_ca_bundle(client: Client, settings: CertificateSettings, serving: Arc<ServingCertificate>) {
    let mut changes = serving.changes();
    loop {
        let pause = match apply_ca_bundle(&client, &settings, &serving).await {
            Ok(()) => LOOK_AGAIN,
            Err(CertificateError::NotServing) => RETRY,
            Err(error) => {
                warn!(%error, "the webhook configurations lack the CA, trying again");
                RETRY
            }
        };
        // The sender lives in `serving`, so this never reports a closed channel.
        let _ = tokio::time::timeout(pause, changes.changed()).await;
    }
}

/// Whether every webhook of both configurations trusts the served CA; part of being ready.
///
/// # Errors
/// When a configuration is missing or can't be read.
pub async fn ca_bundle_in_place(
    client: &Client,
    settings: &CertificateSettings,
    serving: &ServingCertificate,
) -> Result<bool, CertificateError> {
    let Some(ca) = serving.ca_pem() else { return Ok(false) };
    in_time(async {
        let mutating = read::<MutatingWebhookConfiguration>(client, &settings.mutating_webhook).await?;
        let validating = read::<ValidatingWebhookConfiguration>(client, &settings.validating_webhook).await?;
        Ok(lacking(&mutating, &ca).is_empty() && lacking(&validating, &ca).is_empty())
    })
    .await
}

async fn apply<K: Configuration>(client: &Client, name: &str, ca: &str) -> Result<(), CertificateError> {
    let configuration = read::<K>(client, name).await?;
    let lacking = lacking(&configuration, ca);
    if lacking.is_empty() {
        return Ok(());
    }
    // All of them, not just the lacking ones: what an apply leaves out is given up.
    let names: Vec<&str> = configuration.webhooks().into_iter().map(|(name, _)| name).collect();
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(document(K::KIND, name, &names, ca));
    Api::<K>::all(client.clone())
        .patch(name, &parameters, &patch)
        .await
        .map_err(CertificateError::api(format!("write caBundle of {} {name}", K::KIND)))?;
    info!(kind = K::KIND, name, webhooks = names.len(), "wrote the CA into the webhook configuration");
    Ok(())
}

async fn read<K: Configuration>(client: &Client, name: &str) -> Result<K, CertificateError> {
    let found = Api::<K>::all(client.clone())
        .get_opt(name)
        .await
        .map_err(CertificateError::api(format!("read {} {name}", K::KIND)))?;
    found.ok_or_else(|| CertificateError::NoConfiguration { kind: K::KIND, name: name.to_owned() })
}

fn lacking<'k, K: Configuration>(configuration: &'k K, ca: &str) -> Vec<&'k str> {
    let has = |config: &WebhookClientConfig| config.ca_bundle.as_ref().is_some_and(|held| held.0 == ca.as_bytes());
    configuration.webhooks().into_iter().filter(|(_, config)| !has(config)).map(|(name, _)| name).collect()
}

fn document(kind: &str, name: &str, webhooks: &[&str], ca: &str) -> Value {
    let bundle = base64::engine::general_purpose::STANDARD.encode(ca);
    let webhooks: Vec<Value> =
        webhooks.iter().map(|name| json!({"name": name, "clientConfig": {"caBundle": bundle}})).collect();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": webhooks,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(bundles: &[Option<&str>]) -> ValidatingWebhookConfiguration {
        let webhooks: Vec<Value> = bundles
            .iter()
            .enumerate()
            .map(|(i, ca)| {
                let bundle = ca.map(|ca| base64::engine::general_purpose::STANDARD.encode(ca));
                json!({"name": format!("w{i}.weir.dev"), "clientConfig": {"caBundle": bundle},
                       "admissionReviewVersions": ["v1"], "sideEffects": "None"})
            })
            .collect();
        serde_json::from_value(json!({"metadata": {"name": "w"}, "webhooks": webhooks})).unwrap()
    }

    #[test]
    fn only_webhooks_that_lack_this_very_ca_are_seen_as_lacking() {
        let held = configuration(&[Some("a"), Some("old"), None]);
        assert_eq!(lacking(&held, "a"), ["w1.weir.dev", "w2.weir.dev"]);
    }

    #[test]
    fn nothing_but_the_bundle_is_owned() {
        let document = document("ValidatingWebhookConfiguration", "w", &["w0.weir.dev"], "a");
        assert_eq!(document["webhooks"], json!([{"name": "w0.weir.dev", "clientConfig": {"caBundle": "YQ=="}}]));
        assert_eq!(document.as_object().unwrap().len(), 4);
    }
}
