//! One sidecar from its first look at the policies to its last response.
use super::{listener, routes, start};
use crate::admin::serve::serve;
use crate::admin::{LocalAdmin, PodAdmin};
use crate::cli::RunFlags;
use crate::drain::{DrainTrigger, Phase};
use crate::enforce::Enforcer;
use crate::log::LogControl;
use crate::metrics::Metrics;
use crate::probe::Probes;
use crate::proxy::ProxyMetrics;
use crate::reload::source::Source;
use crate::reload::status::{DocumentState, Status};
use crate::reload::{Reloader, watch};
use crate::report::Reporter;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use weir_store::{Credentials, Namespace, Store};

/// The namespace of a sidecar that enforces every namespace's policies, for its reports.
const DEFAULT_NAMESPACE: &str = "default";

/// What the end may take beyond the grace.
const LAST_RESORT: Duration = Duration::from_secs(1);

/// Runs until SIGTERM or SIGINT and until what was in flight has ended.
pub(super) async fn run(flags: RunFlags, log: LogControl) -> Result<(), String> {
    // first of all, so that a signal while starting is not lost
    let (mut terminate, mut interrupt) = (listen_for(SignalKind::terminate())?, listen_for(SignalKind::interrupt())?);
    let wanted = flags.all_routes()?;
    let source = Source::open(&flags.policy, flags.labels_file.as_deref())?;
    let probes = flags.probes.as_deref().map_or(Ok(Probes::default()), Probes::parse).map_err(|e| format!("--{e}"))?;
    let namespace = flags.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let namespace = Namespace::new(namespace).map_err(|error| format!("--namespace: {error}"))?;

    let proxy_metrics = ProxyMetrics::default();
    let metrics = Arc::new(Metrics::new(|registry| proxy_metrics.register(registry)));
    let credentials = flags.store_secret.clone().map_or(Credentials::None, Credentials::Folder);
    let store = Store::open(flags.store.as_deref(), credentials, metrics.store.clone()).map_err(|e| e.to_string())?;
    let enforcer = Arc::new(Enforcer::new(store.clone(), metrics.clone(), flags.bounds.max_waiting));

    let labels = flags.labels.clone().map(|labels| labels.0);
    let is_file = matches!(source, Source::File { .. });
    let (mut reloader, mut status) =
        Reloader::new(source, flags.namespace.clone(), labels, enforcer.clone(), metrics.clone());
    reloader.reload();
    if is_file {
        all_good(&status.borrow(), &flags)?;
    }

    let mut listeners = Vec::new();
    for route in &wanted {
        for socket in listener::open(route.listen).map_err(|error| error.to_string())? {
            listeners.push((socket, route.clone()));
        }
    }
    let (trigger, drain) = crate::drain::drain();
    let (ready, is_ready) = tokio::sync::watch::channel(false);
    let pod_ip = flags.pod_ip.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let pod = PodAdmin { metrics, probes, pod_ip, ready: is_ready, drain: drain.clone() };
    let pod_name = flags.pod_name.clone();
    let local = LocalAdmin { pod_name, status: status.clone(), store: store.clone(), drain: trigger.clone(), log };
    admin(&flags, pod, local)?;
    tokio::spawn(watch::follow(reloader));

    let serving = async {
        tokio::select! {
            _ = async { tokio::join!(start::first_document(&mut status), start::first_answer(&store)) } => {}
            () = drain.reached(Phase::Stopping) => return,
        }
        if let Some(pod_uid) = flags.pod_uid.clone() {
            let mut reporter = Reporter::new(store.clone(), namespace, pod_uid, status.clone());
            start::first_report(&mut reporter).await;
            tokio::spawn(reporter.follow());
        }
        let proxies = routes::serve(listeners, &flags, &enforcer, &drain, &proxy_metrics);
        ready.send_replace(true);
        let (in_force, store) = (status.borrow().summary(), store.status().as_str());
        tracing::info!(in_force, store, "ready; stop with SIGTERM or Ctrl-C");
        proxies.await;
        enforcer.settled().await;
    };
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => return Ok(()),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    stop(&trigger, &flags);
    // the proxies keep the grace themselves; this is for what would not heed it
    let ended = tokio::time::timeout(flags.drain_grace + LAST_RESORT, serving);
    tokio::select! {
        ended = ended => match ended {
            Ok(()) => tracing::info!("stopped"),
            Err(_) => tracing::warn!("not everything has ended, stopping anyway"),
        },
        // a second signal: whoever sends it doesn't want to wait
        _ = terminate.recv() => tracing::warn!("told again to stop, not waiting"),
        _ = interrupt.recv() => tracing::warn!("told again to stop, not waiting"),
    }
    Ok(())
}

fn listen_for(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| format!("can't listen for signals: {error}"))
}

fn stop(trigger: &DrainTrigger, flags: &RunFlags) {
    tracing::info!(grace = ?flags.drain_grace, "stopping: what is in flight ends, nothing new is taken");
    trigger.advance(Phase::Stopping);
}

/// A local file is somebody's own: it starts as a whole or not at all. (A mounted document is the operator's, and a pod
/// must start whatever is in it.)
fn all_good(status: &Status, flags: &RunFlags) -> Result<(), String> {
    let path = flags.policy.display();
    match &status.document {
        DocumentState::Loaded => {}
        DocumentState::Kept(reason) => return Err(format!("--policy {path}: {reason}")),
        DocumentState::NoDocument => return Err(format!("--policy {path}: is not there")),
    }
    if let Some(reason) = &status.labels_error {
        return Err(format!("--labels-file: {reason}"));
    }
    let faults: Vec<_> = status
        .rejected()
        .flat_map(|(policy, fault)| {
            fault.faults.iter().map(move |fault| format!("{}/{}: {fault}", policy.namespace, policy.name))
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(format!("--policy {path}:\n{}", faults.join("\n"))) }
}

fn admin(flags: &RunFlags, pod: PodAdmin, local: LocalAdmin) -> Result<(), String> {
    let open = |address: SocketAddr| listener::open(address).map_err(|error| error.to_string());
    if let Some(address) = flags.admin {
        let pod = Arc::new(pod);
        for socket in open(address)? {
            tracing::info!(admin = %at(&socket), "health, metrics and probes");
            tokio::spawn(serve(socket, pod.clone()));
        }
    }
    if let Some(address) = flags.admin_local {
        let local = Arc::new(local);
        for socket in open(address)? {
            tracing::info!(admin_local = %at(&socket), "policies, drain and log level");
            tokio::spawn(serve(socket, local.clone()));
        }
    }
    Ok(())
}

/// The address that a socket really has, when port 0 left it open.
pub(super) fn at(socket: &TcpListener) -> SocketAddr {
    socket.local_addr().unwrap_or_else(|_| SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)))
}
