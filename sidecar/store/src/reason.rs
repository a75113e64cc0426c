//! Why a store did not decide: a closed set of names for metrics, logs and status, and how a server's error
//! text becomes one of them. Not what happens then: the breaker and the caller's failure mode know that.

use std::fmt;
use std::sync::Arc;

/// Why a decision, a report or a probe failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// No answer within the bound (50 ms for a decision); it may have been charged.
    Timeout,
    /// Not tried: the breaker is open after repeated failures.
    BreakerOpen,
    /// Not tried: more decisions are waiting than the store holds.
    Overloaded,
    /// There is no URL yet: the Secret has not appeared.
    NotConfigured,
    /// What the credentials folder or file holds can't be used.
    Credentials,
    /// The name does not resolve, nobody listens, or the connection broke.
    Unreachable,
    /// The server's certificate or the handshake was not accepted.
    Tls,
    /// `OOM`: Redis is at its `maxmemory`.
    Oom,
    /// `READONLY`: the server is a replica.
    Readonly,
    /// `LOADING`: the server still reads its data.
    Loading,
    /// `NOAUTH`: the server wants a password and none is configured.
    Noauth,
    /// `WRONGPASS`: user or password are wrong.
    Wrongpass,
    /// `NOPERM`: the user lacks a command or a key pattern.
    Noperm,
    /// `NOSCRIPT` again after the script was loaded.
    Noscript,
    /// `BUSY`: another script runs too long.
    Busy,
    /// `MISCONF`: Redis can't write its snapshot.
    Misconf,
    /// `NOREPLICAS`: fewer replicas than `min-replicas-to-write`.
    Noreplicas,
    /// `MASTERDOWN`: a replica without its master.
    Masterdown,
    /// `CLUSTERDOWN`: the cluster has no owner for the slot.
    Clusterdown,
    /// The answer was not what the protocol or the script says.
    Protocol,
    /// Any other error of the server.
    Server,
}

/// A decision, report or probe that failed, and why.
#[derive(Clone, Debug)]
pub struct StoreError {
    reason: Reason,
    detail: Option<Arc<str>>,
}

// === impl Reason ===

impl Reason {
    /// Every reason, in the order of the declaration.
    pub const ALL: [Self; 21] = [
        Self::Timeout,
        Self::BreakerOpen,
        Self::Overloaded,
        Self::NotConfigured,
        Self::Credentials,
        Self::Unreachable,
        Self::Tls,
        Self::Oom,
        Self::Readonly,
        Self::Loading,
        Self::Noauth,
        Self::Wrongpass,
        Self::Noperm,
        Self::Noscript,
        Self::Busy,
        Self::Misconf,
        Self::Noreplicas,
        Self::Masterdown,
        Self::Clusterdown,
        Self::Protocol,
        Self::Server,
    ];

    /// The name in metrics, logs and status.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::BreakerOpen => "breaker_open",
            Self::Overloaded => "overloaded",
            Self::NotConfigured => "not_configured",
            Self::Credentials => "credentials",
            Self::Unreachable => "unreachable",
            Self::Tls => "tls",
            Self::Oom => "oom",
            Self::Readonly => "readonly",
            Self::Loading => "loading",
            Self::Noauth => "noauth",
            Self::Wrongpass => "wrongpass",
            Self::Noperm => "noperm",
            Self::Noscript => "noscript",
            Self::Busy => "busy",
            Self::Misconf => "misconf",
            Self::Noreplicas => "noreplicas",
            Self::Masterdown => "masterdown",
            Self::Clusterdown => "clusterdown",
            Self::Protocol => "protocol",
            Self::Server => "server",
        }
    }

    /// From a server's error code, and its text where the code is a bare `ERR`: Redis 6.2 wraps the errors of
    /// commands that a script called as `ERR Error running script (call to f_…): … -READONLY You can't …`.
    #[must_use]
    pub fn of_server_error(code: &str, text: &str) -> Self {
        Self::of_code(code).unwrap_or_else(|| {
            let words = text.split(|c: char| c.is_whitespace() || c == ':' || c == '\'');
            let codes = words.filter_map(|word| word.strip_prefix('-').or_else(|| word.strip_prefix("@-")));
            let inside = codes.filter_map(Self::of_code).next();
            // Redis 7 has no code for what a script's user may not do
            inside.unwrap_or(if text.starts_with("The user executing the script can't") {
                Self::Noperm
            } else {
                Self::Server
            })
        })
    }

    fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "OOM" => Self::Oom,
            "READONLY" => Self::Readonly,
            "LOADING" => Self::Loading,
            "NOAUTH" => Self::Noauth,
            "WRONGPASS" => Self::Wrongpass,
            "NOPERM" => Self::Noperm,
            "NOSCRIPT" => Self::Noscript,
            "BUSY" => Self::Busy,
            "MISCONF" => Self::Misconf,
            "NOREPLICAS" => Self::Noreplicas,
            "MASTERDOWN" => Self::Masterdown,
            "CLUSTERDOWN" => Self::Clusterdown,
            _ => return None,
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl StoreError ===

impl StoreError {
    pub(crate) fn new(reason: Reason, detail: impl Into<Arc<str>>) -> Self {
        Self { reason, detail: Some(detail.into()) }
    }

    /// The reason as a value.
    #[must_use]
    pub fn kind(&self) -> Reason {
        self.reason
    }

    /// What was said besides, if anything was.
    pub(crate) fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// The reason's name, of the fixed set [`Reason::ALL`].
    #[must_use]
    pub fn reason(&self) -> &'static str {
        self.reason.as_str()
    }
}

impl From<Reason> for StoreError {
    fn from(reason: Reason) -> Self {
        Self { reason, detail: None }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.detail {
            Some(detail) => write!(f, "store: {}: {detail}", self.reason),
            None => write!(f, "store: {}", self.reason),
        }
    }
}

impl std::error::Error for StoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_name() {
        let mut names: Vec<_> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Reason::ALL.len());
    }

    #[test]
    fn a_code_names_the_reason() {
        for (code, reason) in [("OOM", Reason::Oom), ("READONLY", Reason::Readonly), ("NOAUTH", Reason::Noauth)] {
            assert_eq!(Reason::of_server_error(code, "text"), reason);
        }
        assert_eq!(Reason::of_server_error("ERR", "unknown command"), Reason::Server);
    }

    #[test]
    fn an_error_inside_the_error_of_a_script_is_found() {
        let old = "Error running script (call to f_9d2cf1a9): @user_script:1: @user_script: 1: -READONLY You can't \
                   write against a read only replica.";
        assert_eq!(Reason::of_server_error("ERR", old), Reason::Readonly);
        let glued = "Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory";
        assert_eq!(Reason::of_server_error("ERR", glued), Reason::Oom);
        let rights =
            "The user executing the script can't run this command or subcommand script: 685c, on @user_script:54.";
        assert_eq!(Reason::of_server_error("ERR", rights), Reason::Noperm);
    }

    #[test]
    fn words_of_an_error_that_are_no_codes_name_nothing() {
        assert_eq!(Reason::of_server_error("ERR", "value -1 of OOM is READONLY"), Reason::Server);
    }
}
