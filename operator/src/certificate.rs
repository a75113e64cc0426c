//! The webhooks' serving certificate: a CA and a leaf of one year in one Secret of the release namespace, made by whichever
//! replica comes first, watched and served by all of them; the leader writes the CA into the webhook configurations.
//! Not here: the server that presents it ([`crate::webhook`]) and a change of CA while both are in use.

use std::time::Duration;

mod authority;
mod bundle;
mod secret;
mod serving;

pub use authority::{KeyMaterial, UnusableKeyMaterial};
pub use bundle::{apply_ca_bundle, ca_bundle_in_place, keep_ca_bundle};
pub use secret::maintain;
pub use serving::{ServingCertificate, server_config};

/// For what is asked of the API server at one time: one that went away in the middle of it may never answer, and what waited
/// for it would wait for ever.
const ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// Where the certificate lives and who it is for.
#[derive(Clone, Debug)]
pub struct CertificateSettings {
    /// The release namespace: of the Secret and of the Service.
    pub namespace: String,
    /// Name of the Secret that holds CA, leaf and the leaf's key.
    pub secret: String,
    /// Name of the Service through which the API server reaches the webhooks.
    pub service: String,
    /// Name of the MutatingWebhookConfiguration whose `caBundle` the leader writes.
    pub mutating_webhook: String,
    /// Name of the ValidatingWebhookConfiguration whose `caBundle` the leader writes.
    pub validating_webhook: String,
}

impl CertificateSettings {
    /// The names that the API server may expect in the leaf; it asks for `<service>.<namespace>.svc`.
    #[must_use]
    pub fn server_names(&self) -> Vec<String> {
        let short = format!("{}.{}.svc", self.service, self.namespace);
        vec![format!("{short}.cluster.local"), short]
    }
}

/// What can go wrong on the way to a served certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The API server said no or wasn't there.
    #[error("{what}: {source}")]
    Api {
        /// What was being done, such as `read secret weir-webhook-ca`.
        what: String,
        /// What the client said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The API server took too long, or went away.
    #[error("the API server did not answer in time")]
    Timeout,
    /// The Secret holds something, but nothing that can be served.
    #[error(transparent)]
    Unusable(#[from] UnusableKeyMaterial),
    /// Nothing is served yet, so there is no CA to hand out.
    #[error("no certificate is served yet")]
    NotServing,
    /// A webhook configuration doesn't exist.
    #[error("{kind} {name} doesn't exist: it comes with the chart")]
    NoConfiguration {
        /// Kind of the missing object.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// A certificate could not be made.
    #[error("make a certificate: {0}")]
    Generate(#[from] rcgen::Error),
}

impl CertificateError {
    pub(crate) fn api(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let what = what.into();
        move |source| Self::Api { what, source: Box::new(source) }
    }
}

/// `work`, broken off after [`ANSWERED_WITHIN`].
async fn in_time<T>(work: impl Future<Output = Result<T, CertificateError>>) -> Result<T, CertificateError> {
    tokio::time::timeout(ANSWERED_WITHIN, work).await.unwrap_or(Err(CertificateError::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_api_server_that_never_answers_is_an_error_after_a_while() {
        // Takes connections and says nothing.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap()).parse().unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = kube::Client::try_from(kube::Config::new(url)).unwrap();
        let text = |text: &str| text.to_owned();
        let settings = CertificateSettings {
            namespace: text("weir-system"),
            secret: text("ca"),
            service: text("weir"),
            mutating_webhook: text("pods"),
            validating_webhook: text("policies"),
        };
        let serving = ServingCertificate::none_yet();
        serving.serve(&KeyMaterial::generate(crate::clock::now(), &settings.server_names()).unwrap()).unwrap();
        let secrets = kube::Api::namespaced(client.clone(), "weir-system");
        let (applied, in_place, ensured) = tokio::join!(
            apply_ca_bundle(&client, &settings, &serving),
            ca_bundle_in_place(&client, &settings, &serving),
            secret::ensure(&secrets, &settings, &serving),
        );
        assert!(matches!(applied, Err(CertificateError::Timeout)), "{applied:?}");
        assert!(matches!(in_place, Err(CertificateError::Timeout)), "{in_place:?}");
        assert!(matches!(ensured, Err(CertificateError::Timeout)), "{ensured:?}");
    }
}
