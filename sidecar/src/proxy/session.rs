//! What the requests of one client connection share.
use super::client::ClientSocket;
use super::gate::Gate;
use super::guard::Signal;
use super::route::Target;
use super::streams::Streams;
use super::tunnel::Tunnel;
use super::upstream::Upstream;
use super::{Proxy, metrics::Counted};
use crate::drain::Phase;
use http::HeaderValue;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// One client connection.
#[derive(Debug)]
pub(crate) struct Session<G> {
    pub(super) proxy: Arc<Proxy<G>>,
    pub(super) peer: IpAddr,
    /// The peer as `X-Forwarded-For` has it.
    pub(super) peer_value: HeaderValue,
    pub(super) upstream: Upstream,
    /// The socket of an HTTP/1 connection; that of an HTTP/2 one is read whatever its requests wait for.
    socket: Option<ClientSocket>,
    /// The guard's, which HTTP/2 connections don't have.
    pub(super) signal: Arc<Signal>,
    /// Its requests, if it is an HTTP/2 connection.
    pub(super) streams: Arc<Streams>,
    tunnel: Mutex<Option<Tunnel>>,
    gone: Arc<Notify>,
    _counted: Counted,
}

/// How long an idle connection is kept once it is to end, so that a request that is on its way finds an answer.
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
            socket: None,
            signal: Arc::default(),
            streams: Arc::new(Streams::new(proxy.limits.resets)),
            tunnel: Mutex::default(),
            gone,
            _counted: Counted::new(&proxy.metrics.connections),
            proxy,
        }
    }

    /// It is an HTTP/1 connection on this socket.
    pub(crate) fn on_socket(&mut self, socket: ClientSocket) {
        self.socket = Some(socket);
    }

    /// When the client has left while a request waits. In HTTP/2 that, and a reset of the one request, ends the future of the
    /// answer.
    pub(crate) async fn client_gone(&self) {
        match &self.socket {
            Some(socket) => socket.gone().await,
            None => std::future::pending().await,
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
                () = self.streams.first() => {}
                () = self.proxy.drain.reached(Phase::Stopping) => {}
            }
        };
        tokio::select! {
            () = self.gone.notified() => {}
            () = self.streams.abuse() => {}
            () = draining => {}
            () = self.streams.idle(self.proxy.limits.idle_time) => {}
        }
    }

    /// When an HTTP/2 connection that is to take no further request has had its time.
    pub(crate) async fn overdue2(&self) {
        self.streams.overdue(LAST_WORD).await;
    }
}
