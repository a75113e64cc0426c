//! What the proxy counts. No label has values that a client controls.
use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The counters of all listeners of one process; a clone counts into the same ones.
#[derive(Clone, Debug)]
pub struct ProxyMetrics {
    requests: Family<CodeClass, Counter>,
    by_class: [Counter; 5],
    unlimited: Family<Reason, Counter>,
    rejected: Family<Reason, Counter>,
    /// Connections that passed as they are because they speak TLS.
    pub(super) unlimited_tls: Counter,
    /// A ClientHello on a port that is not named for TLS, closed.
    pub(super) rejected_tls: Counter,
    /// An original destination that is ours or not captured, reset.
    pub(super) rejected_destination: Counter,
    /// Open client connections.
    pub(super) connections: Gauge,
    /// Open tunnels.
    pub(super) tunnels: Gauge,
    /// Requests that ended in a panic and were answered 500.
    pub(super) panics: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeClass {
    code_class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

/// Up while it lives: one connection or tunnel in a gauge.
#[derive(Debug)]
pub(super) struct Counted(Gauge);

impl Counted {
    pub(super) fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Default for ProxyMetrics {
    fn default() -> Self {
        let requests = Family::<CodeClass, Counter>::default();
        let by_class = ["1xx", "2xx", "3xx", "4xx", "5xx"]
            .map(|code_class| requests.get_or_create_owned(&CodeClass { code_class }));
        let (unlimited, rejected) = (Family::<Reason, Counter>::default(), Family::<Reason, Counter>::default());
        Self {
            unlimited_tls: unlimited.get_or_create_owned(&Reason { reason: "tls" }),
            rejected_tls: rejected.get_or_create_owned(&Reason { reason: "tls" }),
            rejected_destination: rejected.get_or_create_owned(&Reason { reason: "destination" }),
            requests,
            by_class,
            unlimited,
            rejected,
            connections: Gauge::default(),
            tunnels: Gauge::default(),
            panics: Counter::default(),
        }
    }
}

impl ProxyMetrics {
    /// Puts all of them into a registry, under the names of the documentation.
    pub fn register(&self, registry: &mut Registry) {
        registry.register("weir_requests", "Answered requests by class of the status code", self.requests.clone());
        registry.register("weir_connections", "Open client connections", self.connections.clone());
        registry.register("weir_tunnels", "Open tunnels: WebSocket, CONNECT, other upgrades", self.tunnels.clone());
        registry.register(
            "weir_unlimited_connections",
            "Connections that passed without limits, by reason",
            self.unlimited.clone(),
        );
        registry.register(
            "weir_rejected_connections",
            "Connections that were closed before a request, by reason",
            self.rejected.clone(),
        );
        registry.register(
            "weir_panics",
            "Requests answered 500 because of a fault in this program",
            self.panics.clone(),
        );
    }

    /// Counts an answer.
    pub(super) fn answered(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        if let Some(counter) = self.by_class.get(class) {
            counter.inc();
        }
    }

    /// Open client connections now.
    #[must_use]
    pub fn open_connections(&self) -> i64 {
        self.connections.get()
    }

    /// Open tunnels now.
    #[must_use]
    pub fn open_tunnels(&self) -> i64 {
        self.tunnels.get()
    }

    /// Connections that passed as TLS.
    #[must_use]
    pub fn unlimited_connections(&self) -> u64 {
        self.unlimited_tls.get()
    }

    /// Connections that were closed before a request.
    #[must_use]
    pub fn rejected_connections(&self) -> u64 {
        self.rejected_tls.get() + self.rejected_destination.get()
    }

    /// Answers of a class, 1 to 5.
    #[must_use]
    pub fn answers(&self, class: usize) -> u64 {
        class.checked_sub(1).and_then(|index| self.by_class.get(index)).map_or(0, |counter| counter.get())
    }

    /// Requests that ended in a panic.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.panics.get()
    }
}
