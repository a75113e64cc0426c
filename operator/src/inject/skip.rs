//! Why a pod gets no sidecar: reasons that hold for the whole pod, and how a skipped pod says so.

use serde_json::Value;

use super::NamespaceFacts;
use super::annotations::STATUS;
use super::names::{REDIRECT, SIDECAR, VOLUMES};
use super::pod::{self, List};

/// One reason, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skip {
    /// Which rule.
    pub reason: SkipReason,
    /// What was found and what would be right.
    pub message: String,
}

/// The rules that leave a pod without a sidecar. Their names are what `weir.dev/status` and the metrics show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each name says it, and each message explains it")]
pub enum SkipReason {
    MirrorPod,
    HostNetwork,
    Windows,
    OtherMesh,
    PodResources,
    NameClash,
    NoPorts,
    PortClash,
    Capture,
    GrpcProbe,
    HttpsProbe,
    LifecycleHook,
}

// === impl SkipReason ===

impl SkipReason {
    /// The name as `weir.dev/status` shows it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MirrorPod => "MirrorPod",
            Self::HostNetwork => "HostNetwork",
            Self::Windows => "Windows",
            Self::OtherMesh => "OtherMesh",
            Self::PodResources => "PodResources",
            Self::NameClash => "NameClash",
            Self::NoPorts => "NoPorts",
            Self::PortClash => "PortClash",
            Self::Capture => "Capture",
            Self::GrpcProbe => "GrpcProbe",
            Self::HttpsProbe => "HttpsProbe",
            Self::LifecycleHook => "LifecycleHook",
        }
    }
}

// === impl Skip ===

impl Skip {
    pub(super) fn new(reason: SkipReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// A pod that only mirrors one which the kubelet already runs: nothing about it can be changed, and it must not be refused.
pub(super) fn mirror_pod(pod: &Value) -> Option<Skip> {
    pod::annotation(pod, "kubernetes.io/config.mirror").map(|_| {
        Skip::new(SkipReason::MirrorPod, "a static pod runs from a file on its node: put the sidecar into that file")
    })
}

/// Everything about the pod as a whole that speaks against a sidecar.
pub(super) fn whole_pod(pod: &Value, namespace: &NamespaceFacts) -> Vec<Skip> {
    let spec = &pod["spec"];
    let mut skips = Vec::new();
    if spec["hostNetwork"] == true {
        skips.push(Skip::new(
            SkipReason::HostNetwork,
            "hostNetwork: true shares the node's ports and rules, which are not this pod's to capture",
        ));
    }
    if spec["os"]["name"] == "windows" || spec["nodeSelector"]["kubernetes.io/os"] == "windows" {
        skips.push(Skip::new(SkipReason::Windows, "the sidecar runs on Linux only"));
    }
    if let Some(sign) = other_mesh(pod, namespace) {
        skips.push(Skip::new(
            SkipReason::OtherMesh,
            format!("another mesh captures this pod's traffic ({sign}): take the pod out of one of the two"),
        ));
    }
    if spec.get("resources").is_some_and(|resources| resources.as_object().is_some_and(|r| !r.is_empty())) {
        skips.push(Skip::new(
            SkipReason::PodResources,
            "the pod sets resources for the pod as a whole, which would have to cover the sidecar too: set them per container",
        ));
    }
    if let Some(name) = name_clash(pod) {
        skips.push(Skip::new(
            SkipReason::NameClash,
            format!("the pod has a container or volume named {name} that the injector did not add: rename it"),
        ));
    }
    skips
}

fn other_mesh(pod: &Value, namespace: &NamespaceFacts) -> Option<String> {
    const ANNOTATIONS: [(&str, Option<&str>); 9] = [
        ("sidecar.istio.io/status", None),
        ("sidecar.istio.io/inject", Some("true")),
        ("ambient.istio.io/redirection", Some("enabled")),
        ("linkerd.io/inject", Some("enabled")),
        ("linkerd.io/inject", Some("ingress")),
        ("linkerd.io/proxy-version", None),
        ("kuma.io/sidecar-injected", Some("true")),
        ("consul.hashicorp.com/connect-inject", Some("true")),
        ("consul.hashicorp.com/connect-inject-status", Some("injected")),
    ];
    const LABELS: [(&str, &str); 3] = [
        ("sidecar.istio.io/inject", "true"),
        ("istio.io/dataplane-mode", "ambient"),
        ("kuma.io/sidecar-injection", "enabled"),
    ];
    for (name, value) in ANNOTATIONS {
        if pod::annotation(pod, name).is_some_and(|held| value.is_none_or(|value| held == value)) {
            return Some(format!("annotation {name}"));
        }
    }
    if let Some((name, value)) = pod::labels(pod).find(|label| LABELS.contains(label)) {
        return Some(format!("label {name}: {value}"));
    }
    let opted_out = pod::labels(pod).any(|label| label == ("istio.io/dataplane-mode", "none"));
    (namespace.ambient && !opted_out)
        .then(|| format!("label istio.io/dataplane-mode: ambient of namespace {}", namespace.name))
}

fn name_clash(pod: &Value) -> Option<&str> {
    let containers = List::BOTH.into_iter().flat_map(|list| pod::containers(pod, list)).map(pod::name);
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten().map(pod::name);
    let mut clashing = containers.filter(|name| [SIDECAR, REDIRECT].contains(name));
    clashing.next().or_else(|| { volumes }.find(|name| VOLUMES.contains(name)))
}

/// The pod, saying why it was skipped.
pub(super) fn mark(mut pod: Value, skips: &[Skip]) -> Value {
    let reasons: Vec<&str> = skips.iter().map(|skip| skip.reason.as_str()).collect();
    pod::set_annotation(&mut pod, STATUS, format!("skipped; reason={}", reasons.join(",")));
    pod
}
