//! How requests reach the sidecar: by redirect rules in the pod's network, or by ports whose name points at the sidecar.

use std::collections::{BTreeMap, BTreeSet};

use super::ports::{self, Captured, Declared};
use super::{NamespaceFacts, SecurityLevel};

/// What may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureMode {
    /// named-port where the namespace forbids capabilities and all captured ports have names, else redirect.
    Auto,
    /// nft rules, written by an init container with NET_ADMIN.
    Redirect,
    /// The number behind a port's name becomes the sidecar's; no privilege.
    NamedPort,
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Routes {
    /// The application's ports, by number.
    Redirect(Vec<u16>),
    /// The application's port → the sidecar's.
    NamedPort(BTreeMap<u16, u16>),
}

/// Why nothing could be chosen.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Impossible {
    /// What was asked for can't be had here.
    Mode(String),
    /// No number is left for the sidecar.
    NoNumber,
}

// === impl CaptureMode ===

impl CaptureMode {
    /// Reads `auto`, `redirect` or `named-port`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "auto" => Some(Self::Auto),
            "redirect" => Some(Self::Redirect),
            "named-port" => Some(Self::NamedPort),
            _ => None,
        }
    }
}

// === impl Routes ===

impl Routes {
    pub(super) fn is_redirect(&self) -> bool {
        matches!(self, Self::Redirect(_))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Redirect(_) => "redirect",
            Self::NamedPort(_) => "named-port",
        }
    }

    /// The application's captured ports, ascending.
    pub(super) fn ports(&self) -> Vec<u16> {
        match self {
            Self::Redirect(ports) => ports.clone(),
            Self::NamedPort(assigned) => assigned.keys().copied().collect(),
        }
    }
}

/// Chooses between the two for `captured` in `namespace`.
pub(super) fn choose(
    mode: CaptureMode,
    captured: &[Captured],
    declared: &[Declared<'_>],
    taken: &BTreeSet<u16>,
    namespace: &NamespaceFacts,
) -> Result<Routes, Impossible> {
    let unnamed: Vec<String> = captured.iter().filter(|port| !port.named).map(|port| whose(port, declared)).collect();
    let forbidden = match namespace.enforces {
        SecurityLevel::Privileged => None,
        SecurityLevel::Baseline => Some("baseline"),
        SecurityLevel::Restricted => Some("restricted"),
    };
    let redirect = || Routes::Redirect(captured.iter().map(|port| port.number).collect());
    let no_redirect = |level: &str| {
        format!(
            "namespace {} enforces the Pod Security level {level}, which forbids capture by redirect (it needs NET_ADMIN)",
            namespace.name
        )
    };
    let no_name =
        || format!("capture by named-port needs a name for every captured port; without one: {}", unnamed.join(", "));
    let name_it = "name these container ports, or say by annotation weir.dev/ports which to capture";
    match (mode, forbidden) {
        (CaptureMode::Auto | CaptureMode::Redirect, None) => Ok(redirect()),
        (CaptureMode::Redirect, Some(level)) => {
            Err(Impossible::Mode(format!("{}; use weir.dev/capture: named-port", no_redirect(level))))
        }
        (CaptureMode::Auto, Some(level)) if !unnamed.is_empty() => {
            Err(Impossible::Mode(format!("{}, and {}; {name_it}", no_redirect(level), no_name())))
        }
        (CaptureMode::NamedPort, _) if !unnamed.is_empty() => {
            Err(Impossible::Mode(format!("{}; {name_it}", no_name())))
        }
        (CaptureMode::Auto | CaptureMode::NamedPort, _) => {
            ports::assign(captured, taken).map(Routes::NamedPort).ok_or(Impossible::NoNumber)
        }
    }
}

fn whose(port: &Captured, declared: &[Declared<'_>]) -> String {
    match declared.iter().find(|candidate| candidate.number == port.number) {
        Some(found) => format!("{} of container {}", port.number, found.container),
        None => format!("{} (declared by no container)", port.number),
    }
}
