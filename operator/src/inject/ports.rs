//! Which ports are captured, which of them speak TLS, and which numbers the sidecar's routes get in named-port capture.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::annotations::{PORTS, TLS_PORTS, Wishes};
use super::capture::Routes;
use super::decide::Plan;
use super::names::{RESERVED_PORTS, ROUTE_BASE};
use super::original::PortChange;
use super::pod::{self, List};
use super::probes;

/// First words of port names whose protocol is not HTTP.
const OTHER_PROTOCOLS: [&str; 27] = [
    "amqp",
    "amqps",
    "cassandra",
    "cql",
    "dns",
    "ftp",
    "imap",
    "kafka",
    "ldap",
    "ldaps",
    "mariadb",
    "memcache",
    "memcached",
    "mongo",
    "mongodb",
    "mqtt",
    "mysql",
    "nats",
    "pgsql",
    "postgres",
    "postgresql",
    "redis",
    "smtp",
    "ssh",
    "tcp",
    "udp",
    "zookeeper",
];
/// Numbers that speak TLS where nothing says otherwise.
const TLS_NUMBERS: [u16; 2] = [443, 8443];

/// A port as users write it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PortRef {
    Number(u16),
    Name(String),
}

/// A TCP port of a regular container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared<'p> {
    pub(super) container: &'p str,
    pub(super) name: Option<&'p str>,
    pub(super) number: u16,
}

/// A port whose requests go through the sidecar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Captured {
    pub(super) number: u16,
    /// A Service can target it by name.
    pub(super) named: bool,
    pub(super) tls: bool,
}

// === impl PortRef ===

impl PortRef {
    /// A number from 1 to 65535, or a port's name (at most 15 of a-z, 0-9 and "-", at least one letter).
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().ok().filter(|number| *number > 0).map(Self::Number);
        }
        let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let named = text.len() <= 15 && text.bytes().all(legal) && text.bytes().any(|b| b.is_ascii_lowercase());
        named.then(|| Self::Name(text.to_owned()))
    }

    /// A port field of a probe: a number, or a name that `container` gives to one of its ports.
    pub(super) fn resolve(port: &Value, container: &Value) -> Option<u16> {
        if let Some(number) = number(port) {
            return Some(number);
        }
        let name = port.as_str()?;
        let named = container["ports"].as_array().into_iter().flatten().find(|p| p["name"] == name)?;
        number(&named["containerPort"])
    }
}

/// The TCP ports of the regular containers, in their order.
pub(super) fn declared(pod: &Value) -> Vec<Declared<'_>> {
    pod::containers(pod, List::Regular)
        .flat_map(|container| {
            let ports = container["ports"].as_array().into_iter().flatten();
            ports.filter(|port| is_tcp(port)).filter_map(|port| {
                let number = number(&port["containerPort"])?;
                Some(Declared { container: pod::name(container), name: port["name"].as_str(), number })
            })
        })
        .collect()
}

/// The ports to capture, by ascending number, each once; none where the pod has no port that could be one.
///
/// # Errors
/// When an annotation names a port that the pod doesn't have or that is ours.
pub(super) fn select(pod: &Value, wishes: &Wishes) -> Result<Vec<Captured>, String> {
    let declared = declared(pod);
    let numbers: BTreeSet<u16> = match &wishes.ports {
        Some(wished) => resolve(PORTS, wished, &declared)?,
        None => declared.iter().filter(|port| port.name.is_none_or(is_http)).map(|port| port.number).collect(),
    };
    if let Some(ours) = numbers.iter().find(|number| wishes.ports.is_some() && RESERVED_PORTS.contains(number)) {
        return Err(format!("annotation {PORTS}: {ours} is a port of the sidecar itself; leave it out"));
    }
    let tls: BTreeSet<u16> = match &wishes.tls_ports {
        Some(wished) => resolve(TLS_PORTS, wished, &declared)?,
        None => numbers.iter().copied().filter(|number| is_tls(*number, &declared)).collect(),
    };
    if let Some(stray) = tls.iter().find(|number| !numbers.contains(number)) {
        let captured: Vec<String> = numbers.iter().map(u16::to_string).collect();
        let captured = if captured.is_empty() { "none".to_owned() } else { captured.join(", ") };
        return Err(format!(
            "annotation {TLS_PORTS}: port {stray} is not captured (captured: {captured}); name a captured port"
        ));
    }
    let named = |number| declared.iter().any(|port| port.number == number && port.name.is_some());
    Ok(numbers
        .into_iter()
        .map(|number| Captured { number, named: named(number), tls: tls.contains(&number) })
        .collect())
}

fn resolve(annotation: &str, wished: &[PortRef], declared: &[Declared<'_>]) -> Result<BTreeSet<u16>, String> {
    let mut numbers = BTreeSet::new();
    for port in wished {
        match port {
            PortRef::Number(number) => {
                numbers.insert(*number);
            }
            PortRef::Name(name) => {
                let found: Vec<u16> =
                    declared.iter().filter(|port| port.name == Some(name)).map(|port| port.number).collect();
                if found.is_empty() {
                    let known: Vec<&str> = declared.iter().filter_map(|port| port.name).collect();
                    let known = if known.is_empty() { "none has a name".to_owned() } else { known.join(", ") };
                    return Err(format!(
                        "annotation {annotation}: no container has a TCP port named {name:?}; write a number or a name of: {known}"
                    ));
                }
                numbers.extend(found);
            }
        }
    }
    Ok(numbers)
}

/// A port whose name doesn't speak against HTTP.
fn is_http(name: &str) -> bool {
    let first_word = name.split('-').next().unwrap_or(name);
    !OTHER_PROTOCOLS.contains(&first_word) && name != "metrics" && !name.ends_with("-metrics")
}

fn is_tls(number: u16, declared: &[Declared<'_>]) -> bool {
    let by_name = |name: &str| name == "https" || name.starts_with("https-") || name.starts_with("tls-");
    TLS_NUMBERS.contains(&number) || declared.iter().any(|port| port.number == number && port.name.is_some_and(by_name))
}

/// Every number that the pod itself uses: declared by any container, probed, or asked for.
pub(super) fn taken(pod: &Value, captured: &[Captured]) -> BTreeSet<u16> {
    let mut taken: BTreeSet<u16> = captured.iter().map(|port| port.number).collect();
    for container in List::BOTH.into_iter().flat_map(|list| pod::containers(pod, list)) {
        let ports = container["ports"].as_array().into_iter().flatten();
        taken.extend(ports.filter_map(|port| number(&port["containerPort"])));
        taken.extend(probes::ports(container));
    }
    taken
}

/// A number of the sidecar for each captured port: always the same for the same pod, clear of all that the pod uses.
pub(super) fn assign(captured: &[Captured], taken: &BTreeSet<u16>) -> Option<BTreeMap<u16, u16>> {
    let mut used = taken.clone();
    used.extend(RESERVED_PORTS);
    let mut assigned = BTreeMap::new();
    for port in captured {
        let first = ROUTE_BASE + port.number % 10_000;
        let free = (first..=u16::MAX).find(|candidate| !used.contains(candidate))?;
        used.insert(free);
        assigned.insert(port.number, free);
    }
    Some(assigned)
}

/// Gives captured, named ports the sidecar's number, so that whoever looks the name up reaches the sidecar.
pub(super) fn rewrite(pod: &mut Value, plan: &Plan) -> Vec<PortChange> {
    let Routes::NamedPort(assigned) = &plan.routes else { return Vec::new() };
    let mut changes = Vec::new();
    for container in pod::containers_mut(pod, List::Regular) {
        let owner = pod::name(container).to_owned();
        let ports = container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
        for port in ports.filter(|port| is_tcp(port)) {
            let (Some(name), Some(was)) = (port["name"].as_str(), number(&port["containerPort"])) else { continue };
            let Some(is) = assigned.get(&was).copied() else { continue };
            changes.push(PortChange { container: owner.clone(), name: name.to_owned(), was, is });
            port["containerPort"] = json!(is);
        }
    }
    changes
}

pub(super) fn is_tcp(port: &Value) -> bool {
    matches!(port["protocol"].as_str(), None | Some("" | "TCP"))
}

pub(super) fn number(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|number| u16::try_from(number).ok())
}
