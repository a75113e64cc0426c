//! Requests that wait, as metrics.
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// How many wait, for how long they did, and how often there was no place for one.
#[derive(Clone, Debug)]
pub struct WaitingMetrics {
    /// Requests that wait now.
    pub waiting: Gauge,
    /// Requests that found no place to wait.
    pub full: Counter,
    /// Seconds that those which went on had waited.
    pub waited: Histogram,
    /// Seconds beyond the time at which they were to go on.
    pub late: Histogram,
}

impl Default for WaitingMetrics {
    fn default() -> Self {
        Self {
            waiting: Gauge::default(),
            full: Counter::default(),
            waited: Histogram::new([0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]),
            late: Histogram::new([0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1]),
        }
    }
}

impl WaitingMetrics {
    /// Registered.
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register("weir_waiting", "Requests that wait for their turn now", metrics.waiting.clone());
        registry.register("weir_waiting_full", "Requests that found no place to wait", metrics.full.clone());
        registry.register(
            "weir_wait_seconds",
            "How long requests that went on had waited for their turn",
            metrics.waited.clone(),
        );
        registry.register(
            "weir_wait_late_seconds",
            "How much later than their turn they went on",
            metrics.late.clone(),
        );
        metrics
    }
}
