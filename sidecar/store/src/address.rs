//! A store's URL, parsed once: `memory:`, `redis://` or `rediss://`. Passwords are never shown.

use std::fmt;

use redis::{ConnectionAddr, IntoConnectionInfo as _};

/// What the URL may look like, for error texts.
const EXPECTED: &str = "memory:, redis://[user[:password]@]host[:port][/db] or rediss://… for TLS";

/// Where limits are counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Memory,
    Redis(Endpoint),
}

/// One Redis server as the URL names it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) tls: bool,
    pub(crate) db: i64,
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
}

/// A store that can't be opened as it is described: names the flag, file or key and says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct InvalidStore {
    field: String,
    message: String,
}

impl InvalidStore {
    /// What the sidecar calls the URL.
    pub(crate) const FLAG: &str = "--store";

    pub(crate) fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// The same fault under the name by which the user knows the URL, such as `--redis-url`.
    #[must_use]
    pub fn called(self, field: &str) -> Self {
        if self.field == Self::FLAG { Self { field: field.to_owned(), ..self } } else { self }
    }
}

impl Address {
    /// Parses a URL; `field` is what the user knows it by.
    pub(crate) fn parse(field: &str, url: &str) -> Result<Self, InvalidStore> {
        let fault = |message: String| InvalidStore::new(field, message);
        let Some((scheme, rest)) = url.split_once(':') else {
            return Err(fault(format!("has no scheme; expected {EXPECTED}")));
        };
        match scheme {
            "memory" if rest.is_empty() => return Ok(Self::Memory),
            "memory" => return Err(fault("memory: takes nothing after the colon".to_owned())),
            "redis" | "rediss" => {}
            "redis+cluster" | "rediss+cluster" | "redis+sentinel" | "rediss+sentinel" | "unix" | "redis+unix" => {
                return Err(fault(format!("{scheme} is not in this version; expected {EXPECTED}")));
            }
            // what is before the first colon may be part of a secret that was pasted here: not shown
            _ => return Err(fault(format!("the scheme is not known; expected {EXPECTED}"))),
        }
        if !rest.starts_with("//") || rest.contains(['?', '#']) {
            return Err(fault(format!("must have // after the scheme, no query and no fragment; expected {EXPECTED}")));
        }
        let info = url.into_connection_info().map_err(|error| {
            let why = error.detail().map_or_else(|| error.category().to_owned(), ToOwned::to_owned);
            fault(format!("is not a usable URL ({}); expected {EXPECTED}", why.to_lowercase()))
        })?;
        let (host, port, tls) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => (host.clone(), *port, false),
            ConnectionAddr::TcpTls { host, port, .. } => (host.clone(), *port, true),
            _ => return Err(fault(format!("names no host; expected {EXPECTED}"))),
        };
        let redis = info.redis_settings();
        let owned = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        let (user, password) = (owned(redis.username()), owned(redis.password()));
        Ok(Self::Redis(Endpoint { host, port, tls, db: redis.db(), user, password }))
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { "rediss" } else { "redis" };
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{open}{}{close}:{}/{}", self.host, self.port, self.db)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self}, user {:?})", self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Endpoint {
        match Address::parse("--store", url) {
            Ok(Address::Redis(endpoint)) => endpoint,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn the_parts_of_a_url_are_read() {
        let plain = endpoint("redis://weir-redis.weir-system.svc");
        assert_eq!(
            (plain.host.as_str(), plain.port, plain.tls, plain.db),
            ("weir-redis.weir-system.svc", 6379, false, 0)
        );
        assert_eq!((plain.user, plain.password), (None, None));
        let full = endpoint("rediss://me:p%40ss@[::1]:7000/3");
        assert_eq!((full.host.as_str(), full.port, full.tls, full.db), ("::1", 7000, true, 3));
        assert_eq!((full.user.as_deref(), full.password.as_deref()), (Some("me"), Some("p@ss")));
        assert_eq!(Address::parse("--store", "memory:"), Ok(Address::Memory));
    }

    #[test]
    fn a_password_is_never_shown() {
        let endpoint = endpoint("redis://me:hunter2@host:1/0");
        assert!(!format!("{endpoint} {endpoint:?}").contains("hunter2"));
        for wrong in ["redis://me:hunter2@host:99999/0", "redis://me:hunter2@/0", "redis://me:hunter2@h/x", "hunter2:x"]
        {
            let error = Address::parse("--store", wrong).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_wrong_url_names_the_field_and_what_would_be_right() {
        for wrong in [
            "",
            "localhost",
            "http://h",
            "redis:h",
            "redis://",
            "redis://h/x",
            "redis://h?protocol=resp3",
            "rediss://h#insecure",
        ] {
            let error = Address::parse("--store", wrong).unwrap_err().to_string();
            assert!(error.starts_with("--store: ") && error.contains("redis://"), "{wrong}: {error}");
        }
        let later = Address::parse("--store", "redis+cluster://h").unwrap_err().to_string();
        let renamed = Address::parse("--store", "h").unwrap_err().called("--redis-url").to_string();
        assert!(renamed.starts_with("--redis-url: "), "{renamed}");
        assert!(later.contains("redis+cluster is not in this version"), "{later}");
        assert!(Address::parse("--store", "memory:x").is_err());
    }
}
