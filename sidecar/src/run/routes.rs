//! The proxies: one for each listener, all before the same gate.
use super::files;
use super::sidecar::at;
use crate::cli::RunFlags;
use crate::cli::listen::{Destination, Route};
use crate::drain::Drain;
use crate::enforce::Enforcer;
use crate::proxy::{Proxy, ProxyMetrics, Target, Upstream};
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Starts all of them at once; what comes back ends when the last has let go of its last connection.
pub(super) fn serve(
    listeners: Vec<(TcpListener, Route)>,
    flags: &RunFlags,
    enforcer: &Arc<Enforcer>,
    drain: &Drain,
    metrics: &ProxyMetrics,
) -> impl Future<Output = ()> + use<> {
    let mut limits = flags.bounds.limits(flags.drain_grace);
    limits.connections = files::make_room_for(limits.connections, flags.bounds.max_waiting);
    // one for all listeners: connections and tunnels are bounded together
    let proxy = Proxy::new(enforcer.clone(), limits, drain.clone(), metrics.clone());
    let mut proxies = Vec::new();
    for (socket, route) in listeners {
        tracing::info!(listen = %at(&socket), upstream = %route.destination, "taking requests");
        let upstream = upstream(&route, at(&socket).port(), flags);
        proxies.push(tokio::spawn(Arc::clone(&proxy).serve(socket, upstream)));
    }
    async {
        for proxy in proxies {
            // a proxy that broke has logged it; the others go on
            let _ = proxy.await;
        }
    }
}

fn upstream(route: &Route, listens_on: u16, flags: &RunFlags) -> Upstream {
    match &route.destination {
        Destination::Original => {
            Upstream::Original { captured: flags.captured_ports.clone().into(), tls: flags.tls_ports.clone().into() }
        }
        Destination::Fixed { host, port } => {
            let target = match host.parse::<IpAddr>() {
                Ok(ip) => Target::Address(SocketAddr::new(ip, *port)),
                Err(_) => Target::Name(host.as_str().into(), *port),
            };
            Upstream::Fixed { target, tls: flags.tls_ports.contains(&listens_on) }
        }
    }
}
