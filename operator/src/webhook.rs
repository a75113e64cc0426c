//! The webhook server: `POST /mutate` injects pods, `POST /validate` checks policies; HTTPS with whatever certificate is
//! current. Every replica runs it. Not here: what injection means ([`crate::inject`]), what a policy means (`weir_policy`) and
//! the certificate ([`crate::certificate`]).

mod metrics;
mod mutate;
mod namespaces;
mod review;
mod server;
mod validate;

pub use metrics::WebhookMetrics;
pub use namespaces::{NamespaceUnknown, Namespaces};
pub use server::serve;

use crate::inject::Injector;

/// What the server needs to answer.
#[derive(Debug)]
pub struct Webhook {
    /// How pods are injected.
    pub injector: Injector,
    /// What is known of namespaces.
    pub namespaces: Namespaces,
    /// What is counted.
    pub metrics: WebhookMetrics,
}
