//! The decision about one pod: inject and how, skip and why, or refuse. Nothing is changed here.

use serde_json::Value;

use super::annotations::{self, ForwardedFor, Wishes};
use super::capture::{self, CaptureMode, Impossible, Routes};
use super::names::{ADMIN_LOCAL_PORT, ADMIN_PORT, CAPTURE_PORT};
use super::skip::{self, Skip, SkipReason};
use super::{NamespaceFacts, ports, probes, resources};

#[derive(Debug)]
pub(super) enum Decision {
    NotAsked,
    Inject(Plan),
    Skip(Vec<Skip>),
    Refuse(String),
}

/// How a pod is injected.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) routes: Routes,
    /// Captured ports of the application that speak TLS.
    pub(super) tls_ports: Vec<u16>,
    pub(super) x_forwarded_for: Option<ForwardedFor>,
    /// Resources of each injected container.
    pub(super) resources: Value,
}

/// Decides about a pod that carries nothing of ours any more.
pub(super) fn decide(pod: &Value, namespace: &NamespaceFacts, default: CaptureMode) -> Decision {
    // First of all, because a mirror pod runs already, whatever its annotations say.
    if let Some(mirror) = skip::mirror_pod(pod) {
        return Decision::Skip(vec![mirror]);
    }
    match annotations::inject(pod) {
        Ok(wish) if !wish.unwrap_or(namespace.injection_enabled) => Decision::NotAsked,
        Ok(_) => asked(pod, namespace, default).unwrap_or_else(Decision::Refuse),
        Err(message) => Decision::Refuse(message),
    }
}

fn asked(pod: &Value, namespace: &NamespaceFacts, default: CaptureMode) -> Result<Decision, String> {
    let wishes = annotations::read(pod)?;
    let skips = skip::whole_pod(pod, namespace);
    if !skips.is_empty() {
        return Ok(Decision::Skip(skips));
    }
    let captured = ports::select(pod, &wishes)?;
    if captured.is_empty() {
        return Ok(skip_one(
            SkipReason::NoPorts,
            "no TCP port to capture: declare the container port, or name the ports in weir.dev/ports",
        ));
    }
    let taken = ports::taken(pod, &captured);
    let declared = ports::declared(pod);
    let mode = wishes.capture.unwrap_or(default);
    let routes = match capture::choose(mode, &captured, &declared, &taken, namespace) {
        Ok(routes) => routes,
        // Who asked by name is told no; who lives in a namespace that asked starts without.
        Err(Impossible::Mode(message)) if wishes.inject == Some(true) || wishes.capture.is_some() => {
            return Err(message);
        }
        Err(Impossible::Mode(message)) => return Ok(skip_one(SkipReason::Capture, message)),
        Err(Impossible::NoNumber) => {
            return Ok(skip_one(SkipReason::PortClash, "no port number is free for the sidecar"));
        }
    };
    let ours: &[u16] = if routes.is_redirect() {
        &[CAPTURE_PORT, ADMIN_PORT, ADMIN_LOCAL_PORT]
    } else {
        &[ADMIN_PORT, ADMIN_LOCAL_PORT]
    };
    if let Some(port) = ours.iter().find(|port| taken.contains(port)) {
        let message = format!("the pod uses port {port}, which the sidecar needs for itself: move the pod's");
        return Ok(skip_one(SkipReason::PortClash, message));
    }
    if routes.is_redirect() {
        let obstacles = probes::obstacles(pod, &captured);
        if !obstacles.is_empty() {
            return Ok(Decision::Skip(obstacles));
        }
    }
    let Wishes { x_forwarded_for, .. } = wishes;
    Ok(Decision::Inject(Plan {
        routes,
        tls_ports: captured.iter().filter(|port| port.tls).map(|port| port.number).collect(),
        x_forwarded_for,
        resources: resources::injected(pod, &wishes)?,
    }))
}

fn skip_one(reason: SkipReason, message: impl Into<String>) -> Decision {
    Decision::Skip(vec![Skip::new(reason, message)])
}
