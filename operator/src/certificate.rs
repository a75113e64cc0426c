//! The webhooks' serving certificate: a CA and a leaf of one year in one Secret of the release namespace, made by whichever
//! replica comes first, watched and served by all of them; the leader writes the CA into the webhook configurations.
//! Not here: the server that presents it ([`crate::webhook`]) and a change of CA while both are in use.

mod authority;
mod bundle;
mod secret;
mod serving;

pub use authority::{KeyMaterial, UnusableKeyMaterial};
pub use bundle::{apply_ca_bundle, ca_bundle_in_place, keep_ca_bundle};
pub use secret::maintain;
pub use serving::{ServingCertificate, server_config};

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
