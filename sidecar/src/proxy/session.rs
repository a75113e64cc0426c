//! What the requests of one client connection share.
use super::gate::Gate;
use super::guard::Signal;
use super::route::Target;
use super::tunnel::Tunnel;
use super::upstream::Upstream;
use super::{Proxy, metrics::Counted};
use crate::clock;
use crate::drain::Phase;
use http::HeaderValue;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// One client connection.
#[derive(Debug)]
pub(crate) struct Session<G> {
    pub(super) proxy: Arc<Proxy<G>>,
    pub(super) peer: IpAddr,
    /// The peer as `X-Forwarded-For` has it.
    pub(super) peer_value: HeaderValue,
    pub(super) upstream: Upstream,
    /// The guard's, which HTTP/2 connections don't have.
    pub(super) signal: Arc<Signal>,
    tunnel: Mutex<Option<Tunnel>>,
    gone: Arc<Notify>,
    abuse: Notify,
    first: Notify,
    started: AtomicU64,
    ended: AtomicU64,
    resets: Mutex<Option<(Instant, u32)>>,
    _counted: Counted,
}

/// In which resets of a client are counted.
const RESET_WINDOW: Duration = Duration::from_secs(10);
/// How long an idle connection is kept once the phase is stopping, so that a request under way finds an answer.
const LAST_WORD: Duration = Duration::from_secs(1);

impl<G: Gate> Session<G> {
    /// A new connection.
    pub(crate) fn new(proxy: Arc<Proxy<G>>, peer: IpAddr, target: Target) -> Self {
        let peer = peer.to_canonical();
        let gone = Arc::new(Notify::new());
        Self {
            peer,
            // an address is always a valid value
            peer_value: HeaderValue::try_from(peer.to_string()).unwrap_or(HeaderValue::from_static("unknown")),
            upstream: Upstream::new(target, Arc::clone(&proxy.limits), Arc::clone(&gone)),
            signal: Arc::default(),
            tunnel: Mutex::default(),
            gone,
            abuse: Notify::new(),
            first: Notify::new(),
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            resets: Mutex::default(),
            _counted: Counted::new(&proxy.metrics.connections),
            proxy,
        }
    }

    /// What is going to follow the HTTP of this connection.
    pub(crate) fn set_tunnel(&self, tunnel: Tunnel) {
        *self.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    }

    /// The tunnel that follows, once.
    pub(crate) fn take_tunnel(&self) -> Option<Tunnel> {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// True when a tunnel follows.
    pub(crate) fn has_tunnel(&self) -> bool {
        self.tunnel.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// An HTTP/2 request has begun; what is returned tells when it ended, and whether by a reset.
    pub(crate) fn begin(&self) -> Begun<'_, G> {
        if self.started.fetch_add(1, Relaxed) == 0 {
            self.first.notify_one();
        }
        Begun { session: self, answered: false }
    }

    /// When an HTTP/1 connection is to take no further request: the application closed its side, or this process ends. While
    /// draining, an idle one stays: to close it would meet a request under way, and the next answer says `close`.
    pub(crate) async fn closing1(&self) {
        tokio::select! {
            () = self.gone.notified() => {}
            () = self.last_word() => {}
        }
    }

    /// When a connection that has nothing in flight is to end because this process does.
    pub(crate) async fn last_word(&self) {
        self.proxy.drain.reached(Phase::Stopping).await;
        tokio::time::sleep(LAST_WORD).await;
    }

    /// When an HTTP/2 connection is to take no further request. GOAWAY races with nothing, so draining is enough; but a
    /// connection that is new while draining has its first request first.
    pub(crate) async fn closing2(&self) {
        let draining = async {
            self.proxy.drain.reached(Phase::Draining).await;
            tokio::select! {
                () = self.first.notified() => {}
                () = self.proxy.drain.reached(Phase::Stopping) => {}
            }
        };
        let idle = async {
            loop {
                let before = self.started.load(Relaxed);
                tokio::time::sleep(self.proxy.limits.idle_time).await;
                if before == self.started.load(Relaxed) && before == self.ended.load(Relaxed) {
                    return;
                }
            }
        };
        tokio::select! {
            () = self.gone.notified() => {}
            () = self.abuse.notified() => {}
            () = draining => {}
            () = idle => {}
        }
    }

    fn count_reset(&self) {
        let now = clock::now();
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = resets.filter(|(since, _)| now.duration_since(*since) < RESET_WINDOW).unwrap_or((now, 0));
        *resets = Some((since, count + 1));
        if count + 1 > self.proxy.limits.resets {
            self.abuse.notify_one();
        }
    }
}

/// A request under way on an HTTP/2 connection.
#[derive(Debug)]
pub(crate) struct Begun<'s, G: Gate> {
    session: &'s Session<G>,
    answered: bool,
}

impl<G: Gate> Begun<'_, G> {
    /// It has its answer.
    pub(crate) fn answered(mut self) {
        self.answered = true;
    }
}

impl<G: Gate> Drop for Begun<'_, G> {
    fn drop(&mut self) {
        self.session.ended.fetch_add(1, Relaxed);
        if !self.answered {
            self.session.count_reset();
        }
    }
}
