//! What the store tells about its calls, as metrics.
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::time::Duration;
use weir_store::{BreakerState, Observer, Reason, Refunds};

/// Calls to Redis by result, how many decisions each carried, and the breaker.
#[derive(Debug)]
pub struct StoreMetrics {
    calls: Family<CallLabels, Counter>,
    batch_size: Histogram,
    call_seconds: Histogram,
    breaker: Family<BreakerLabels, Gauge>,
    refunds: Family<RefundLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BreakerLabels {
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefundLabels {
    result: &'static str,
}

const STATES: [BreakerState; 3] = [BreakerState::Closed, BreakerState::Open, BreakerState::HalfOpen];

impl StoreMetrics {
    /// Registered, the breaker closed.
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self {
            calls: Family::default(),
            batch_size: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0]),
            call_seconds: Histogram::new([0.000_25, 0.000_5, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1]),
            breaker: Family::default(),
            refunds: Family::default(),
        };
        registry.register("weir_store_calls", "Calls to the store by result: ok, or why not", metrics.calls.clone());
        registry.register("weir_store_batch_size", "Decisions in one call to the store", metrics.batch_size.clone());
        registry.register("weir_store_call_seconds", "Time of one call to the store", metrics.call_seconds.clone());
        registry.register(
            "weir_store_breaker_state",
            "1 for the breaker's state, 0 for the others",
            metrics.breaker.clone(),
        );
        registry.register(
            "weir_store_refunds",
            "Charges of requests that left while they waited: given_back, nothing_left to give, lost",
            metrics.refunds.clone(),
        );
        metrics.breaker(BreakerState::Closed);
        metrics.refunds(Refunds::default());
        metrics
    }
}

impl Observer for StoreMetrics {
    fn call(&self, decisions: usize, took: Duration, failed: Option<Reason>) {
        let result = failed.map_or("ok", |reason| reason.as_str());
        self.calls.get_or_create(&CallLabels { result }).inc();
        self.batch_size.observe(decisions as f64);
        self.call_seconds.observe(took.as_secs_f64());
    }

    fn refunds(&self, refunds: Refunds) {
        let Refunds { given_back, nothing_left, lost } = refunds;
        for (result, count) in [("given_back", given_back), ("nothing_left", nothing_left), ("lost", lost)] {
            self.refunds.get_or_create(&RefundLabels { result }).inc_by(count as u64);
        }
    }

    fn breaker(&self, state: BreakerState) {
        for each in STATES {
            self.breaker.get_or_create(&BreakerLabels { state: state_name(each) }).set(i64::from(each == state));
        }
    }
}

/// The breaker's state as a word.
#[must_use]
pub fn state_name(state: BreakerState) -> &'static str {
    match state {
        BreakerState::Closed => "closed",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half_open",
    }
}
