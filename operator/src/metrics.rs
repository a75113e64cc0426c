//! What the operator counts, for Prometheus. All labels have a fixed set of values.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Type of the text that [`Metrics::encode`] gives.
pub const CONTENT_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All metrics of one replica.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    reconciles: Family<ResultLabel, Counter>,
    writes: Family<WriteLabels, Counter>,
    watch_errors: Family<WatchLabel, Counter>,
    enforced_seconds: Histogram,
    leads: Gauge,
    pods: Family<StateLabel, Gauge>,
    certificate_expires: Gauge<f64, AtomicU64>,
}

/// What the leader writes to the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    ConfigMap,
    Secret,
    Nudge,
    Event,
    Status,
}

/// The pods that matter, by what they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodCounts {
    pub(crate) started: i64,
    pub(crate) starting: i64,
    pub(crate) without: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabel {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    object: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabel {
    watch: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    sidecar: &'static str,
}

// === impl Metrics ===

impl Metrics {
    /// All at zero; `extend` registers what other rooms count.
    #[must_use]
    pub fn new<T>(extend: impl FnOnce(&mut Registry) -> T) -> (Self, T) {
        let mut registry = Registry::default();
        let metrics = Self {
            reconciles: Family::default(),
            writes: Family::default(),
            watch_errors: Family::default(),
            enforced_seconds: Histogram::new([0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0]),
            leads: Gauge::default(),
            pods: Family::default(),
            certificate_expires: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register(
            "weir_reconciles",
            "Looks at a namespace by result: ok, or the step that failed and why",
            metrics.reconciles.clone(),
        );
        registry.register(
            "weir_writes",
            "Writes to the API server by object (configmap, secret, nudge, event, status) and result",
            metrics.writes.clone(),
        );
        registry.register(
            "weir_watch_errors",
            "Watches that failed and were begun again",
            metrics.watch_errors.clone(),
        );
        registry.register(
            "weir_enforced_seconds",
            "Time from seeing a policy's new generation until every selected sidecar reported it",
            metrics.enforced_seconds.clone(),
        );
        registry.register("weir_leader", "1 on the replica that leads", metrics.leads.clone());
        registry.register(
            "weir_pods",
            "Pods that have or asked for a sidecar, by the sidecar's state: started, starting, absent",
            metrics.pods.clone(),
        );
        registry.register(
            "weir_certificate_expiry_timestamp_seconds",
            "When the webhooks' certificate ends, in Unix time",
            metrics.certificate_expires.clone(),
        );
        let extension = extend(&mut registry);
        (Self { registry, ..metrics }, extension)
    }

    /// A look at a namespace ended: `ok`, or an error's category.
    pub(crate) fn reconciled(&self, result: &'static str) {
        self.reconciles.get_or_create(&ResultLabel { result }).inc();
    }

    pub(crate) fn wrote(&self, write: Write, succeeded: bool) {
        let result = if succeeded { "ok" } else { "failed" };
        self.writes.get_or_create(&WriteLabels { object: write.name(), result }).inc();
    }

    pub(crate) fn watch_failed(&self, watch: &'static str) {
        self.watch_errors.get_or_create(&WatchLabel { watch }).inc();
    }

    pub(crate) fn enforced_after(&self, took: Duration) {
        self.enforced_seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leads.set(i64::from(leads));
    }

    pub(crate) fn pods(&self, counts: PodCounts) {
        let PodCounts { started, starting, without } = counts;
        for (sidecar, count) in [("started", started), ("starting", starting), ("absent", without)] {
            self.pods.get_or_create(&StateLabel { sidecar }).set(count);
        }
    }

    pub(crate) fn certificate_expires(&self, when: jiff::Timestamp) {
        self.certificate_expires.set(when.as_second() as f64);
    }

    /// Everything in the Prometheus text format.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // writing to a String can't fail
        let _ = prometheus_text::encode(&mut text, &self.registry);
        text
    }
}

// === impl Write ===

impl Write {
    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::Secret => "secret",
            Self::Nudge => "nudge",
            Self::Event => "event",
            Self::Status => "status",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_is_in_the_text() {
        let (metrics, ()) = Metrics::new(|_| ());
        metrics.reconciled("ok");
        metrics.wrote(Write::Nudge, true);
        metrics.enforced_after(Duration::from_millis(150));
        metrics.leads(true);
        metrics.pods(PodCounts { started: 3, starting: 0, without: 1 });
        let text = metrics.encode();
        for line in [
            r#"weir_reconciles_total{result="ok"} 1"#,
            r#"weir_writes_total{object="nudge",result="ok"} 1"#,
            r#"weir_enforced_seconds_bucket{le="0.2"} 1"#,
            "weir_leader 1",
            r#"weir_pods{sidecar="absent"} 1"#,
        ] {
            assert!(text.contains(line), "no {line} in\n{text}");
        }
    }
}
