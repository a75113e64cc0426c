//! Probes and lifecycle hooks: never counted, and the application's own verdict. In redirect capture those on captured ports
//! are asked through the sidecar's admin port, which asks the application as the original says; in named-port capture those by
//! name get the application's own number.

use serde_json::{Value, json};

use super::capture::Routes;
use super::decide::Plan;
use super::names::ADMIN_PORT;
use super::original::HandlerChange;
use super::pod::{self, List};
use super::ports::{Captured, PortRef};
use super::skip::{Skip, SkipReason};

/// Where a container may have a handler; the second is the probe's kind in the sidecar's path, or none for a hook.
const PLACES: [(&str, Option<&str>); 5] = [
    ("/startupProbe", Some("startup")),
    ("/readinessProbe", Some("readiness")),
    ("/livenessProbe", Some("liveness")),
    ("/lifecycle/postStart", None),
    ("/lifecycle/preStop", None),
];

/// Numbers of the ports that the container's probes and hooks go to.
pub(super) fn ports(container: &Value) -> impl Iterator<Item = u16> {
    let handlers = PLACES.iter().filter_map(|(at, _)| container.pointer(at));
    let targets = handlers.flat_map(|h| [&h["httpGet"], &h["tcpSocket"], &h["grpc"]]);
    targets.filter_map(|target| super::ports::number(&target["port"]))
}

/// Probes and hooks that redirect capture would break.
pub(super) fn obstacles(pod: &Value, captured: &[Captured]) -> Vec<Skip> {
    let mut skips = Vec::new();
    for (container, at, kind) in places(pod) {
        let Some(handler) = container.pointer(at) else { continue };
        let hit = |target: &Value| {
            let number = PortRef::resolve(&target["port"], container)?;
            captured.iter().find(|port| port.number == number && !elsewhere(target))
        };
        let what = format!("{} of container {}", &at[1..], pod::name(container));
        if let Some(port) = hit(&handler["grpc"]) {
            skips.push(Skip::new(
                SkipReason::GrpcProbe,
                format!(
                    "{what} is a grpc probe on the captured port {}: serve it on a port that isn't captured",
                    port.number
                ),
            ));
        }
        let Some(port) = hit(&handler["httpGet"]).or_else(|| hit(&handler["tcpSocket"])) else { continue };
        if kind.is_none() {
            skips.push(Skip::new(
                SkipReason::LifecycleHook,
                format!("{what} goes to the captured port {}: use exec, or a port that isn't captured", port.number),
            ));
        } else if is_https(&handler["httpGet"]) && !port.tls {
            skips.push(Skip::new(
                SkipReason::HttpsProbe,
                format!(
                    "{what} speaks HTTPS to the captured port {}: name the port in weir.dev/tls-ports",
                    port.number
                ),
            ));
        }
    }
    skips
}

/// Points probes and hooks so that they stay the application's.
pub(super) fn rewrite(pod: &mut Value, plan: &Plan) -> Vec<HandlerChange> {
    let mut changes = Vec::new();
    for (container, at, kind) in places(pod) {
        let Some(handler) = container.pointer(at) else { continue };
        for transport in ["httpGet", "tcpSocket"] {
            let target = &handler[transport];
            let Some(number) = PortRef::resolve(&target["port"], container) else { continue };
            if !plan.routes.ports().contains(&number) {
                continue;
            }
            let is = match (&plan.routes, kind) {
                (Routes::NamedPort(_), _) if target["port"].is_string() => {
                    let mut same = target.clone();
                    same["port"] = json!(number);
                    json!({transport: same})
                }
                (Routes::Redirect(_), Some(kind)) if !elsewhere(target) && !is_https(target) => {
                    let path = format!("/probe/{}/{kind}", pod::name(container));
                    json!({"httpGet": {"path": path, "port": ADMIN_PORT, "scheme": "HTTP"}})
                }
                _ => continue,
            };
            let container = pod::name(container).to_owned();
            changes.push(HandlerChange { container, at: at.to_owned(), was: json!({transport: target}), is });
        }
    }
    changes.iter().for_each(|change| apply(pod, change));
    changes
}

fn apply(pod: &mut Value, change: &HandlerChange) {
    for list in List::BOTH {
        for container in pod::containers_mut(pod, list).filter(|c| pod::name(c) == change.container) {
            let Some(Value::Object(handler)) = container.pointer_mut(&change.at) else { continue };
            let (Some(was), Some(is)) = (change.was.as_object(), change.is.as_object()) else { continue };
            was.keys().for_each(|kind| drop(handler.remove(kind)));
            handler.extend(is.clone());
        }
    }
}

/// The original probes for the sidecar, as JSON: what it asks when the kubelet asks it. None where no probe was redirected.
pub(super) fn for_sidecar(pod: &Value, plan: &Plan, changes: &[HandlerChange]) -> Option<String> {
    if !plan.routes.is_redirect() || changes.is_empty() {
        return None;
    }
    let probes: Vec<Value> = changes.iter().filter_map(|change| for_sidecar_one(pod, change)).collect();
    Some(Value::Array(probes).to_string())
}

fn for_sidecar_one(pod: &Value, change: &HandlerChange) -> Option<Value> {
    let container = List::BOTH
        .into_iter()
        .flat_map(|list| pod::containers(pod, list))
        .find(|container| pod::name(container) == change.container)?;
    let kind = PLACES.iter().find(|(at, _)| *at == change.at).and_then(|(_, kind)| *kind)?;
    let (transport, target) = change.was.as_object()?.iter().next()?;
    // By number: the sidecar doesn't know the names.
    let mut target = target.clone();
    target["port"] = json!(PortRef::resolve(&target["port"], container)?);
    let timeout = container.pointer(&change.at)?.get("timeoutSeconds").and_then(Value::as_u64).unwrap_or(1);
    let transport = if transport == "httpGet" { "http" } else { "tcp" };
    Some(json!({"container": change.container, "kind": kind, transport: target, "timeoutSeconds": timeout}))
}

fn places(pod: &Value) -> impl Iterator<Item = (&Value, &'static str, Option<&'static str>)> {
    let staying = |list| pod::containers(pod, list).filter(move |container| pod::stays(list, container));
    let containers = List::BOTH.into_iter().flat_map(staying);
    containers.flat_map(|container| PLACES.into_iter().map(move |(at, kind)| (container, at, kind)))
}

/// A probe that names a host doesn't ask this pod, or asks it in a way of its own.
fn elsewhere(target: &Value) -> bool {
    target["host"].as_str().is_some_and(|host| !host.is_empty())
}

fn is_https(target: &Value) -> bool {
    target["scheme"] == "HTTPS"
}
