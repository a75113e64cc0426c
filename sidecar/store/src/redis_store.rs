//! The handle of a Redis store: what a caller waits for, and how long. The work is the worker's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value, cmd};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use weir_limiter::{Batch, Check, Decision, Receipt};

use crate::address::{Endpoint, InvalidStore};
use crate::breaker::BreakerState;
use crate::clock;
use crate::credentials::{Credentials, Source};
use crate::gate::{Gate, StoreStatus};
use crate::heartbeat::{HEARTBEAT_TTL_SECONDS, Heartbeat, heartbeat_key};
use crate::job::{Job, Request};
use crate::key::{InstallKey, Namespace, StateKey};
use crate::observer::Observer;
use crate::reason::{Reason, StoreError};
use crate::refunds::{Ledger, PATIENCE};
use crate::waits::Waits;
use crate::worker::Worker;

/// Decisions that may wait at once; beyond it they fail as `overloaded`. At the 50 ms that each may wait, this
/// is more than Redis decides.
const WAITING: usize = 16_384;

/// Limits counted in Redis. Cheap to clone; the last clone that goes ends the connection.
#[derive(Clone, Debug)]
pub struct RedisStore {
    jobs: mpsc::Sender<Job>,
    gate: Arc<Gate>,
    waits: Waits,
    ledger: Ledger,
}

impl RedisStore {
    pub(crate) fn open(
        endpoint: Option<Endpoint>,
        credentials: Credentials,
        observer: Arc<dyn Observer>,
        waits: Waits,
    ) -> Result<Self, InvalidStore> {
        let runtime = tokio::runtime::Handle::try_current()
            .map_err(|_| InvalidStore::new("store", "must be opened inside a tokio runtime"))?;
        let source = Source { endpoint, credentials };
        // the keys of the first requests must be right already; faults are the worker's to report
        let install_key = source.read().ok().flatten().map_or(InstallKey::ZEROS, |target| target.install_key);
        let gate = Arc::new(Gate::new(install_key));
        let (jobs, inbox) = mpsc::channel(WAITING);
        let ledger = Ledger::new(Arc::clone(&observer));
        let worker = Worker::new(inbox, source, Arc::clone(&gate), observer, waits, weir_limiter::decide_script());
        runtime.spawn(worker.run());
        Ok(Self { jobs, gate, waits, ledger })
    }

    pub(crate) async fn decide(&self, checks: &[Check<StateKey>]) -> Result<Decision, StoreError> {
        if checks.len() > Batch::MAX_CHECKS {
            return Err(StoreError::new(Reason::Protocol, "more checks in one request than a call can carry"));
        }
        let (reply, answer) = oneshot::channel();
        let deadline = clock::monotonic() + self.waits.call;
        self.send(Job::Decide(Request { checks: checks.to_vec(), deadline, reply }))?;
        self.bounded(answer).await
    }

    /// Hands charges to the worker. What can't be sent is dropped, and counted as lost by that.
    pub(crate) fn refund(&self, charges: Vec<(StateKey, Receipt)>) {
        if let Some(refund) = self.ledger.enter(charges, clock::monotonic() + self.patience()) {
            let _ = self.send(Job::Refund(refund));
        }
    }

    pub(crate) async fn refunded(&self) {
        self.ledger.settled(self.patience() + self.waits.call).await;
    }

    fn patience(&self) -> Duration {
        PATIENCE.max(self.waits.call)
    }

    pub(crate) async fn ping(&self) -> Result<(), StoreError> {
        self.ask(cmd("PING")).await.map(drop)
    }

    pub(crate) async fn report(&self, namespace: &Namespace, heartbeat: &Heartbeat) -> Result<(), StoreError> {
        let mut command = cmd("SET");
        command.arg(heartbeat_key(namespace, &heartbeat.pod_uid)).arg(heartbeat.to_json());
        command.arg("EX").arg(HEARTBEAT_TTL_SECONDS);
        self.ask(command).await.map(drop)
    }

    pub(crate) async fn heartbeats<U: AsRef<str>>(
        &self,
        namespace: &Namespace,
        pod_uids: &[U],
    ) -> Result<Vec<Heartbeat>, StoreError> {
        if pod_uids.is_empty() {
            return Ok(Vec::new());
        }
        let mut command = cmd("MGET");
        for uid in pod_uids {
            command.arg(heartbeat_key(namespace, uid.as_ref()));
        }
        let Value::Array(values) = self.ask(command).await? else {
            return Err(StoreError::new(Reason::Protocol, "the reply to MGET is not an array"));
        };
        let record = |value| match value {
            Value::BulkString(json) => Heartbeat::from_json(&json),
            _ => None,
        };
        Ok(values.into_iter().filter_map(record).collect())
    }

    pub(crate) fn breaker(&self) -> BreakerState {
        self.gate.breaker()
    }

    pub(crate) fn status(&self) -> StoreStatus {
        self.gate.status()
    }

    pub(crate) fn install_key(&self) -> InstallKey {
        self.gate.install_key()
    }

    async fn ask(&self, command: Cmd) -> Result<Value, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Command { command, reply })?;
        self.bounded(answer).await
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        if let Some(reason) = self.gate.shut() {
            return Err(reason.into());
        }
        self.jobs.try_send(job).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => Reason::Overloaded.into(),
            mpsc::error::TrySendError::Closed(_) => ended(),
        })
    }

    /// Waits as long as a caller may wait, whatever the worker does.
    async fn bounded<T>(&self, answer: oneshot::Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
        match timeout(self.waits.call, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(ended()),
            Err(_) => Err(Reason::Timeout.into()),
        }
    }
}

fn ended() -> StoreError {
    StoreError::new(Reason::Unreachable, "the store has ended")
}

/// The folder of a mounted Secret, as the command line names it.
impl From<Option<&Path>> for Credentials {
    fn from(folder: Option<&Path>) -> Self {
        folder.map_or(Self::None, |folder| Self::Folder(folder.to_path_buf()))
    }
}
