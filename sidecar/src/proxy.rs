//! From an accepted connection to the application and back: what is spoken on the wire, and nothing about limits, which
//! are a [`Gate`]'s.
mod answer;
mod body;
mod client;
mod connection;
mod exchange;
pub mod gate;
mod guard;
mod hold;
mod hop;
mod limits;
mod metrics;
mod prefixed;
mod route;
mod session;
mod sniff;
mod streams;
mod tunnel;
mod upstream;

pub use gate::{Gate, Held, LimitHeaders, Ruling, WaitEnd};
pub use limits::{ForwardedFor, ProxyLimits};
pub use metrics::ProxyMetrics;
pub use route::{Target, Upstream};

use crate::drain::{Drain, Phase};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

/// How long accepting rests after an error, most often one of too many open files.
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// What all listeners of a process share.
#[derive(Debug)]
pub struct Proxy<G> {
    gate: Arc<G>,
    limits: Arc<ProxyLimits>,
    drain: Drain,
    metrics: ProxyMetrics,
    connections: Arc<Semaphore>,
    tunnels: Arc<Semaphore>,
}

impl<G: Gate> Proxy<G> {
    /// A proxy without listeners.
    #[must_use]
    pub fn new(gate: Arc<G>, limits: ProxyLimits, drain: Drain, metrics: ProxyMetrics) -> Arc<Self> {
        Arc::new(Self {
            gate,
            connections: Arc::new(Semaphore::new(limits.connections)),
            tunnels: Arc::new(Semaphore::new(limits.tunnels)),
            limits: Arc::new(limits),
            drain,
            metrics,
        })
    }

    /// Serves the connections of one listener until the phase is stopping and they have ended, or their time to do so is
    /// over. May be called for several listeners.
    pub async fn serve(self: Arc<Self>, listener: TcpListener, upstream: Upstream) {
        let mut served = JoinSet::new();
        let accepting = async {
            loop {
                let (stream, peer) = match listener.accept().await {
                    Ok(accepted) => accepted,
                    // the client gave up between connecting and being accepted
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                    Err(error) => {
                        tracing::warn!(%error, "can't accept a connection");
                        tokio::time::sleep(ACCEPT_REST).await;
                        continue;
                    }
                };
                // at the bound this one waits, and those behind it in the kernel's queue; the semaphore is never closed
                let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else { return };
                while served.try_join_next().is_some() {}
                let connection = connection::serve(Arc::clone(&self), stream, peer, upstream.clone());
                served.spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
        };
        tokio::select! {
            () = accepting => {}
            () = self.drain.reached(Phase::Stopping) => {}
        }
        drop(listener);
        let ending = async { while served.join_next().await.is_some() {} };
        // what is still open then is closed by dropping it
        let _ = tokio::time::timeout(self.limits.stop_time, ending).await;
    }
}
