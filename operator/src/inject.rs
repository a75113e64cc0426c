//! The injector: from a pod as the API server sent it to the pod as it will run. Pure functions on the raw JSON, because a
//! round trip through typed objects drops fields that are newer than this program. Not here: HTTP, reviews and patches
//! ([`crate::webhook`]).
//!
//! strip → decide → build. A pod that was injected before is first put back into its original state, so that injecting twice
//! is injecting once, also with containers added in between.

pub mod annotations;
mod capture;
mod decide;
mod names;
mod original;
mod pod;
mod ports;
mod probes;
mod quantity;
mod redirect;
mod resources;
mod sidecar;
mod skip;
mod volumes;

pub use capture::CaptureMode;
pub use skip::{Skip, SkipReason};

use serde_json::Value;

/// What every injection of this operator has in common.
#[derive(Clone, Debug)]
pub struct Injector {
    /// Image of weir-sidecar, which also runs as weir-redirect.
    pub sidecar_image: String,
    /// `Always`, `IfNotPresent` or `Never`; none leaves it to the API server.
    pub image_pull_policy: Option<String>,
    /// How traffic is captured where the pod says nothing.
    pub capture: CaptureMode,
}

/// What the injector must know of a pod's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFacts {
    /// Its name.
    pub name: String,
    /// Label `weir.dev/injection: enabled`.
    pub injection_enabled: bool,
    /// Pod Security level that it enforces.
    pub enforces: SecurityLevel,
    /// Istio's ambient mesh captures its pods.
    pub ambient: bool,
}

/// A Pod Security level, as in the label `pod-security.kubernetes.io/enforce`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecurityLevel {
    /// Everything is allowed; also where no level is named.
    #[default]
    Privileged,
    /// No added capability.
    Baseline,
    /// No root either.
    Restricted,
}

/// What becomes of a pod.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nobody asked for a sidecar.
    NotAsked,
    /// The pod with the sidecar.
    Injected(Value),
    /// The pod without a sidecar, and with an annotation that says why.
    Skipped {
        /// The pod.
        pod: Value,
        /// Why, never empty.
        skips: Vec<Skip>,
    },
    /// The pod must not be created: what it asks for is malformed or can't be done.
    Refused(String),
}

// === impl Injector ===

impl Injector {
    /// Decides about `pod`, which is to be created in `namespace`.
    #[must_use]
    pub fn inject(&self, pod: &Value, namespace: &NamespaceFacts) -> Outcome {
        let stripped = match original::strip(pod) {
            Ok(stripped) => stripped,
            Err(message) => return Outcome::Refused(message),
        };
        match decide::decide(&stripped, namespace, self.capture) {
            decide::Decision::NotAsked => Outcome::NotAsked,
            decide::Decision::Inject(plan) => Outcome::Injected(self.build(stripped, &plan)),
            decide::Decision::Skip(skips) => Outcome::Skipped { pod: skip::mark(stripped, &skips), skips },
            decide::Decision::Refuse(message) => Outcome::Refused(message),
        }
    }

    fn build(&self, mut pod: Value, plan: &decide::Plan) -> Value {
        // Probes first: they find the application's numbers by the names that the ports are about to give away.
        let handlers = probes::rewrite(&mut pod, plan);
        let probes = probes::for_sidecar(&pod, plan, &handlers);
        let ports = ports::rewrite(&mut pod, plan);
        volumes::add(&mut pod);
        let mut ours = Vec::new();
        if plan.routes.is_redirect() {
            ours.push(redirect::container(self, plan));
        }
        ours.push(sidecar::container(self, plan, probes));
        pod::prepend_init_containers(&mut pod, ours);
        original::record(&mut pod, plan, handlers, ports);
        pod
    }
}

// === impl NamespaceFacts ===

impl NamespaceFacts {
    /// Reads the labels of the namespace `name`.
    pub fn from_labels<'l>(name: &str, labels: impl IntoIterator<Item = (&'l String, &'l String)>) -> Self {
        let mut facts = Self { name: name.to_owned(), ..Self::default() };
        for (label, value) in labels {
            match (label.as_str(), value.as_str()) {
                (annotations::INJECTION_LABEL, "enabled") => facts.injection_enabled = true,
                ("pod-security.kubernetes.io/enforce", "baseline") => facts.enforces = SecurityLevel::Baseline,
                ("pod-security.kubernetes.io/enforce", "restricted") => facts.enforces = SecurityLevel::Restricted,
                ("istio.io/dataplane-mode", "ambient") => facts.ambient = true,
                _ => {}
            }
        }
        facts
    }
}
