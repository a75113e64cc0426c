//! One store, whatever it is made of.

use std::sync::Arc;

use weir_limiter::{Check, Decision, Receipt};

use crate::address::{Address, InvalidStore};
use crate::breaker::BreakerState;
use crate::clock;
use crate::credentials::Credentials;
use crate::gate::StoreStatus;
use crate::heartbeat::Heartbeat;
use crate::key::{InstallKey, Namespace, StateKey};
use crate::memory::MemoryStore;
use crate::observer::Observer;
use crate::reason::StoreError;
use crate::redis_store::RedisStore;
use crate::waits::Waits;

/// Where limits are counted. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Store {
    /// In this process.
    Memory(MemoryStore),
    /// In Redis, shared by all sidecars of a namespace.
    Redis(RedisStore),
}

impl Store {
    /// Opens a store; must be called inside a tokio runtime. Redis need not be there yet, nor the credentials.
    ///
    /// `url` is `memory:`, `redis://…` or `rediss://…`; without one it is the `url` of the credentials folder, and
    /// without either the memory store. Connecting happens in the background: see [`Store::status`].
    ///
    /// # Errors
    /// A URL that can't be used; it is called `--store` in the text, see [`InvalidStore::called`].
    pub fn open(
        url: Option<&str>,
        credentials: impl Into<Credentials>,
        observer: Arc<dyn Observer>,
    ) -> Result<Self, InvalidStore> {
        Self::open_with(url, credentials, observer, Waits::default())
    }

    /// As [`Store::open`], with other bounds on waiting.
    ///
    /// # Errors
    /// As for [`Store::open`].
    pub fn open_with(
        url: Option<&str>,
        credentials: impl Into<Credentials>,
        observer: Arc<dyn Observer>,
        waits: Waits,
    ) -> Result<Self, InvalidStore> {
        let credentials = credentials.into();
        let address = url.map(|url| Address::parse(InvalidStore::FLAG, url)).transpose()?;
        match (address, &credentials) {
            (Some(Address::Memory), Credentials::None) => Ok(Self::Memory(MemoryStore::observed_by(observer))),
            (Some(Address::Memory), _) => {
                Err(InvalidStore::new(InvalidStore::FLAG, "memory: takes no credentials; leave out one of the two"))
            }
            (Some(Address::Redis(endpoint)), _) => {
                Ok(Self::Redis(RedisStore::open(Some(endpoint), credentials, observer, waits)?))
            }
            (None, Credentials::Folder(_)) => Ok(Self::Redis(RedisStore::open(None, credentials, observer, waits)?)),
            (None, Credentials::None) => Ok(Self::Memory(MemoryStore::observed_by(observer))),
            (None, Credentials::Files { .. }) => {
                Err(InvalidStore::new(InvalidStore::FLAG, "must be given with a password file or a CA file"))
            }
        }
    }

    /// Decides one request: every check passes and all are charged, or none is. Ends within 50 ms.
    ///
    /// No checks, no limits: admitted.
    ///
    /// # Errors
    /// The store did not decide. It may have charged if the reason is `timeout` or `unreachable`; it is never
    /// asked again for the same call.
    pub async fn decide(&self, checks: &[Check<StateKey>]) -> Result<Decision, StoreError> {
        if checks.is_empty() {
            return Ok(Decision { admitted: true, outcomes: Vec::new() });
        }
        match self {
            Self::Memory(memory) => Ok(memory.decide(clock::wall(), checks)),
            Self::Redis(redis) => redis.decide(checks).await,
        }
    }

    /// Gives back what decisions charged: the receipts of their outcomes, each with the key of its check. Returns at once;
    /// in Redis it is done in the background with the next call, within about a second, and lost when the store fails.
    /// [`Observer::refunds`] hears what became of it. May be called in a destructor.
    pub fn refund(&self, charges: Vec<(StateKey, Receipt)>) {
        match self {
            Self::Memory(memory) => memory.refund(clock::wall(), charges),
            Self::Redis(redis) => redis.refund(charges),
        }
    }

    /// When no refund is under way any more, each done or given up; for shutdown. Ends within about a second.
    pub async fn refunded(&self) {
        match self {
            Self::Memory(_) => {}
            Self::Redis(redis) => redis.refunded().await,
        }
    }

    /// The key of a state under the install key in force now.
    #[must_use]
    pub fn state_key(&self, namespace: &Namespace, identity: &[u8]) -> StateKey {
        StateKey::new(&self.install_key(), namespace, identity)
    }

    /// The install key in force; it changes when the credentials folder does.
    #[must_use]
    pub fn install_key(&self) -> InstallKey {
        match self {
            Self::Memory(_) => InstallKey::ZEROS,
            Self::Redis(redis) => redis.install_key(),
        }
    }

    /// How the store stands: for readiness detail, heartbeats and logs.
    #[must_use]
    pub fn status(&self) -> StoreStatus {
        match self {
            Self::Memory(_) => StoreStatus::Connected,
            Self::Redis(redis) => redis.status(),
        }
    }

    /// What the breaker lets through; the memory store's never opens.
    #[must_use]
    pub fn breaker_state(&self) -> BreakerState {
        match self {
            Self::Memory(_) => BreakerState::Closed,
            Self::Redis(redis) => redis.breaker(),
        }
    }

    /// Asks for a sign of life, within 50 ms.
    ///
    /// # Errors
    /// There was none.
    pub async fn ping(&self) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Redis(redis) => redis.ping().await,
        }
    }

    /// Leaves a heartbeat for the operator, for 5 s. In memory there is nobody to read it.
    ///
    /// # Errors
    /// It may not have arrived.
    pub async fn report(&self, namespace: &Namespace, heartbeat: &Heartbeat) -> Result<(), StoreError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Redis(redis) => redis.report(namespace, heartbeat).await,
        }
    }

    /// The heartbeats of these pods, of those that have one, in their order.
    ///
    /// # Errors
    /// The store did not answer.
    pub async fn heartbeats<U: AsRef<str>>(
        &self,
        namespace: &Namespace,
        pod_uids: &[U],
    ) -> Result<Vec<Heartbeat>, StoreError> {
        match self {
            Self::Memory(_) => Ok(Vec::new()),
            Self::Redis(redis) => redis.heartbeats(namespace, pod_uids).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(url: Option<&str>, credentials: Credentials) -> String {
        Store::open(url, credentials, Arc::new(())).unwrap_err().to_string()
    }

    #[test]
    fn without_url_and_credentials_limits_are_counted_in_memory() {
        for url in [None, Some("memory:")] {
            let store = Store::open(url, Credentials::None, Arc::new(())).unwrap();
            assert!(matches!(store, Store::Memory(_)));
            assert_eq!((store.status(), store.breaker_state()), (StoreStatus::Connected, BreakerState::Closed));
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let folder = Credentials::Folder("/nowhere".into());
        assert!(fault(Some("memory:"), folder).contains("takes no credentials"));
        let files = Credentials::Files { password: None, ca: None };
        assert!(fault(None, files).contains("must be given"));
    }

    #[test]
    fn redis_outside_a_runtime_is_an_error_and_no_panic() {
        assert!(fault(Some("redis://h"), Credentials::None).contains("tokio"));
    }
}
