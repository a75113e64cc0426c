//! The annotations and labels that users write, parsed: a malformed one is an error that names it and says what would be
//! right, never a guess.

use serde_json::Value;

use super::capture::CaptureMode;
use super::pod;
use super::ports::PortRef;
use super::quantity::Quantity;

/// Label of a namespace whose pods get a sidecar: `enabled`.
pub const INJECTION_LABEL: &str = "weir.dev/injection";
/// Whether this pod gets a sidecar: `"true"` or `"false"`.
pub const INJECT: &str = "weir.dev/inject";
/// Label of injected pods: `"true"`.
pub const INJECTED_LABEL: &str = "weir.dev/injected";
/// What the injector did, for people.
pub const STATUS: &str = "weir.dev/status";
/// What the injector changed, for undoing it.
pub const ORIGINAL: &str = "weir.dev/original";
/// Changed by the operator to have the kubelet look at the pod's volumes at once.
pub const REVISION: &str = "weir.dev/revision";
/// Ports to capture, by number or name.
pub const PORTS: &str = "weir.dev/ports";
/// Captured ports that speak TLS and pass unread.
pub const TLS_PORTS: &str = "weir.dev/tls-ports";
/// `auto`, `redirect` or `named-port`.
pub const CAPTURE: &str = "weir.dev/capture";
/// `preserve` or `append`.
pub const X_FORWARDED_FOR: &str = "weir.dev/x-forwarded-for";
/// CPU that weir-sidecar requests.
pub const CPU_REQUEST: &str = "weir.dev/cpu-request";
/// CPU that weir-sidecar is held to.
pub const CPU_LIMIT: &str = "weir.dev/cpu-limit";
/// Memory that weir-sidecar requests.
pub const MEMORY_REQUEST: &str = "weir.dev/memory-request";
/// Memory that weir-sidecar is held to.
pub const MEMORY_LIMIT: &str = "weir.dev/memory-limit";

const PREFIX: &str = "weir.dev/";
/// Everything under our prefix that may stand in a pod's annotations.
const KNOWN: [&str; 12] = [
    INJECT,
    STATUS,
    ORIGINAL,
    REVISION,
    PORTS,
    TLS_PORTS,
    CAPTURE,
    X_FORWARDED_FOR,
    CPU_REQUEST,
    CPU_LIMIT,
    MEMORY_REQUEST,
    MEMORY_LIMIT,
];

/// What a pod's annotations ask for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wishes {
    pub(super) inject: Option<bool>,
    pub(super) ports: Option<Vec<PortRef>>,
    pub(super) tls_ports: Option<Vec<PortRef>>,
    pub(super) capture: Option<CaptureMode>,
    pub(super) x_forwarded_for: Option<ForwardedFor>,
    pub(super) cpu: Amounts,
    pub(super) memory: Amounts,
}

/// Request and limit of one resource, as far as they are given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Amounts {
    pub(super) request: Option<Quantity>,
    pub(super) limit: Option<Quantity>,
}

/// What the sidecar does with X-Forwarded-For.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForwardedFor {
    Preserve,
    Append,
}

/// Whether the pod says `weir.dev/inject: "true"`, `"false"` or nothing.
pub(super) fn inject(pod: &Value) -> Result<Option<bool>, String> {
    parse(pod, INJECT, |text| match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(r#"write "true" or "false""#.into()),
    })
}

/// All that the pod asks for.
pub(super) fn read(pod: &Value) -> Result<Wishes, String> {
    let unknown = pod::annotations(pod).find(|(name, _)| name.starts_with(PREFIX) && !KNOWN.contains(name));
    if let Some((name, _)) = unknown {
        let known: Vec<&str> = KNOWN.into_iter().filter(|k| ![STATUS, ORIGINAL, REVISION].contains(k)).collect();
        return Err(format!("annotation {name}: not known; the ones to write are {}", known.join(", ")));
    }
    Ok(Wishes {
        inject: inject(pod)?,
        ports: parse(pod, PORTS, |text| port_list(text, false))?,
        tls_ports: parse(pod, TLS_PORTS, |text| port_list(text, true))?,
        capture: parse(pod, CAPTURE, |text| {
            CaptureMode::parse(text).ok_or_else(|| r#"write "auto", "redirect" or "named-port""#.into())
        })?,
        x_forwarded_for: parse(pod, X_FORWARDED_FOR, |text| match text {
            "preserve" => Ok(ForwardedFor::Preserve),
            "append" => Ok(ForwardedFor::Append),
            _ => Err(r#"write "preserve" or "append""#.into()),
        })?,
        cpu: amounts(pod, CPU_REQUEST, CPU_LIMIT, "50m")?,
        memory: amounts(pod, MEMORY_REQUEST, MEMORY_LIMIT, "64Mi")?,
    })
}

fn parse<T>(pod: &Value, name: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    let Some(text) = pod::annotation(pod, name) else { return Ok(None) };
    read(text.trim()).map(Some).map_err(|right| format!("annotation {name}: {text:?} is not valid; {right}"))
}

fn port_list(text: &str, may_be_empty: bool) -> Result<Vec<PortRef>, String> {
    if text.is_empty() && may_be_empty {
        return Ok(Vec::new());
    }
    let right = || r#"write port numbers from 1 to 65535 or names of container ports, such as "8080,grpc""#.to_owned();
    text.split(',').map(|one| PortRef::parse(one.trim()).ok_or_else(right)).collect()
}

fn amounts(pod: &Value, request: &str, limit: &str, example: &str) -> Result<Amounts, String> {
    let one = |name: &str| {
        parse(pod, name, |text| {
            Quantity::parse(text)
                .filter(Quantity::is_positive)
                .ok_or_else(|| format!("write a quantity above 0, such as {example:?}"))
        })
    };
    let both = Amounts { request: one(request)?, limit: one(limit)? };
    match (&both.request, &both.limit) {
        (Some(least), Some(most)) if least > most => {
            Err(format!("annotation {request}: {least} is more than {limit}, which is {most}; write at most that"))
        }
        _ => Ok(both),
    }
}
