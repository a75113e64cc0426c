//! The Secret that holds CA and leaf: made when it is absent or near its end, watched, served. Has a client.

use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::watcher::watch_object;
use kube::{Api, Client};
use tracing::{info, warn};

use super::{CertificateError, CertificateSettings, KeyMaterial, ServingCertificate, in_time};
use crate::clock;

/// Pause after a failure: an API server that is away is asked again, not hammered.
const RETRY: Duration = Duration::from_secs(1);

/// Sees to it that the Secret exists, and serves what it holds, now and whenever it changes. Runs on every replica, and never
/// ends.
pub async fn maintain(client: Client, settings: CertificateSettings, serving: Arc<ServingCertificate>) {
    let secrets: Api<Secret> = Api::namespaced(client, &settings.namespace);
    loop {
        if let Err(error) = ensure(&secrets, &settings, &serving).await {
            warn!(%error, "no serving certificate yet, trying again");
        } else if let Err(error) = follow(&secrets, &settings, &serving).await {
            warn!(%error, "watching the serving certificate failed, starting over");
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Reads the Secret and serves it; makes it where it is absent, broken or near its end. Two replicas may try at once: the API
/// server lets one through, and the other one reads what that one wrote.
pub(super) async fn ensure(
    secrets: &Api<Secret>,
    settings: &CertificateSettings,
    serving: &ServingCertificate,
) -> Result<(), CertificateError> {
    in_time(ensured(secrets, settings, serving)).await
}

async fn ensured(
    secrets: &Api<Secret>,
    settings: &CertificateSettings,
    serving: &ServingCertificate,
) -> Result<(), CertificateError> {
    let name = &settings.secret;
    let names = settings.server_names();
    // Each round sees what another replica did in between.
    for _ in 0..5 {
        let found = secrets.get_opt(name).await.map_err(CertificateError::api(format!("read secret {name}")))?;
        if let Some(material) = found.as_ref().and_then(|secret| read(secret).ok())
            && material.is_good(clock::now(), &names)
        {
            return Ok(serving.serve(&material)?);
        }
        let made = KeyMaterial::generate(clock::now(), &names)?;
        let written = match &found {
            None => secrets.create(&PostParams::default(), &secret(settings, &made, None)).await,
            // With the version that was read: a replica that was faster wins.
            Some(old) => {
                let version = old.metadata.resource_version.clone();
                secrets.replace(name, &PostParams::default(), &secret(settings, &made, version)).await
            }
        };
        match written {
            Ok(_) => {
                info!(secret = %name, replaced = found.is_some(), "made a CA and a serving certificate");
                return Ok(serving.serve(&made)?);
            }
            Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => {}
            Err(error) => return Err(CertificateError::api(format!("write secret {name}"))(error)),
        }
    }
    Err(CertificateError::NotServing)
}

/// Serves every version of the Secret, until it is gone or the watch ends.
async fn follow(
    secrets: &Api<Secret>,
    settings: &CertificateSettings,
    serving: &ServingCertificate,
) -> Result<(), kube::runtime::watcher::Error> {
    let mut versions = std::pin::pin!(watch_object(secrets.clone(), &settings.secret));
    while let Some(version) = versions.try_next().await? {
        let Some(secret) = version else {
            warn!(secret = %settings.secret, "the serving certificate's secret was deleted, making another");
            return Ok(());
        };
        if let Err(error) = read(&secret).and_then(|material| serving.serve(&material)) {
            warn!(%error, "the serving certificate's secret can't be served, keeping the last good one");
        }
    }
    Ok(())
}

fn read(secret: &Secret) -> Result<KeyMaterial, super::UnusableKeyMaterial> {
    KeyMaterial::from_secret(secret.data.as_ref().unwrap_or(&std::collections::BTreeMap::new()))
}

fn secret(settings: &CertificateSettings, material: &KeyMaterial, resource_version: Option<String>) -> Secret {
    Secret {
        metadata: ObjectMeta {
            name: Some(settings.secret.clone()),
            namespace: Some(settings.namespace.clone()),
            resource_version,
            labels: Some([("app.kubernetes.io/part-of".to_owned(), "weir".to_owned())].into()),
            ..ObjectMeta::default()
        },
        type_: Some("kubernetes.io/tls".into()),
        data: Some(material.to_secret()),
        ..Secret::default()
    }
}
