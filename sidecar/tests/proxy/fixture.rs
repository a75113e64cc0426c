//! A proxy before an application, with a gate that does what the request asks it to.
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderName, Response};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use weir_sidecar::drain::{DrainTrigger, drain};
use weir_sidecar::proxy::{
    Gate, Held, LimitHeaders, Proxy, ProxyLimits, ProxyMetrics, Ruling, Target, Upstream, WaitEnd,
};

/// Refuses what has `x-refuse`, panics at `x-panic`, counts with `x-count`, has it wait for the milliseconds in `x-wait`,
/// admits the rest.
#[derive(Default)]
pub(crate) struct Asked {
    /// How waits ended.
    ends: Arc<Mutex<Vec<WaitEnd>>>,
}

impl Gate for Asked {
    async fn rule(&self, parts: &Parts, _has_body: bool, _peer: IpAddr) -> Ruling {
        assert!(!parts.headers.contains_key("x-panic"), "as the request asked");
        if parts.headers.contains_key("x-refuse") {
            let answer = Response::builder().status(429).header("weir-error", "limited").header("retry-after", "7");
            return Ruling::Refuse(Box::new(answer.body(Bytes::from_static(b"too many")).unwrap()));
        }
        let counted = parts.headers.contains_key("x-count");
        let headers = if counted { LimitHeaders::new(put) } else { LimitHeaders::none() };
        let Some(wait) = parts.headers.get("x-wait") else { return Ruling::Admit(headers) };
        let wait = Duration::from_millis(wait.to_str().unwrap().parse().unwrap());
        let ends = Arc::clone(&self.ends);
        Ruling::Hold(Held::new(Instant::now() + wait, headers, move |end| ends.lock().unwrap().push(end)))
    }

    fn reads(&self, name: &HeaderName) -> bool {
        name == "x-user"
    }
}

/// Sees what the application sends.
fn put(headers: &mut HeaderMap) {
    if !headers.contains_key("x-ratelimit-limit") {
        headers.insert("x-ratelimit-limit", 20.into());
        headers.insert("x-ratelimit-remaining", 19.into());
    }
}

/// Listens as long as it lives.
pub(crate) struct Fixture {
    pub(crate) address: SocketAddr,
    pub(crate) drain: DrainTrigger,
    pub(crate) metrics: ProxyMetrics,
    pub(crate) serving: JoinSet<()>,
    ends: Arc<Mutex<Vec<WaitEnd>>>,
}

impl Fixture {
    pub(crate) async fn before(application: SocketAddr) -> Self {
        Self::with(application, limits()).await
    }

    pub(crate) async fn with(application: SocketAddr, limits: ProxyLimits) -> Self {
        Self::to(Upstream::Fixed { target: Target::Address(application), tls: false }, limits).await
    }

    pub(crate) async fn to(upstream: Upstream, limits: ProxyLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (trigger, drain) = drain();
        let metrics = ProxyMetrics::default();
        let gate = Asked::default();
        let ends = Arc::clone(&gate.ends);
        let proxy = Proxy::new(Arc::new(gate), limits, drain, metrics.clone());
        let mut serving = JoinSet::new();
        serving.spawn(proxy.serve(listener, upstream));
        Self { address, drain: trigger, metrics, serving, ends }
    }

    /// How the first wait ended, once it has.
    pub(crate) async fn wait_end(&self) -> WaitEnd {
        loop {
            if let Some(end) = self.ends.lock().unwrap().pop() {
                return end;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Whether no wait has ended yet.
    pub(crate) fn all_wait(&self) -> bool {
        self.ends.lock().unwrap().is_empty()
    }
}

/// The documented limits, except that lingering is short.
pub(crate) fn limits() -> ProxyLimits {
    ProxyLimits { linger_time: Duration::from_millis(500), ..ProxyLimits::default() }
}
