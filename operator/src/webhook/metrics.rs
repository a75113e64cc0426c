//! What the webhook server counts: answers by path and outcome, and how long they took.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::review::Outcome;

/// Which webhook answered.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PathLabel {
    webhook: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabel {
    webhook: &'static str,
    outcome: &'static str,
}

/// Counters of the webhook server.
#[derive(Clone, Debug)]
pub struct WebhookMetrics {
    reviews: Family<OutcomeLabel, Counter>,
    seconds: Family<PathLabel, Histogram>,
}

// === impl WebhookMetrics ===

impl WebhookMetrics {
    /// Makes the metrics and registers them.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let histogram = || Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5]);
        let metrics = Self { reviews: Family::default(), seconds: Family::new_with_constructor(histogram) };
        registry.register(
            "weir_webhook_reviews",
            "Admission reviews by webhook and outcome: allowed, injected, skipped, refused, failed",
            metrics.reviews.clone(),
        );
        registry.register(
            "weir_webhook_seconds",
            "Seconds from the request's first byte to its answer, by webhook",
            metrics.seconds.clone(),
        );
        metrics
    }

    pub(super) fn answered(&self, webhook: &'static str, outcome: Outcome, took: Duration) {
        self.reviews.get_or_create(&OutcomeLabel { webhook, outcome: outcome.as_str() }).inc();
        self.seconds.get_or_create(&PathLabel { webhook }).observe(took.as_secs_f64());
    }
}
