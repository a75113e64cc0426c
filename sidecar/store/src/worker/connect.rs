//! The worker while it has no connection: back-off, credentials, one attempt after the other; and what happens to
//! the decisions that arrive meanwhile.

use std::time::Instant;

use tokio::time::{sleep_until, timeout};

use super::{Abandoned, LOOK, Worker};
use crate::breaker::BreakerState;
use crate::clock;
use crate::connection::Connection;
use crate::credentials::{Stamp, Target};
use crate::reason::{Reason, StoreError};

impl Worker {
    /// Tries until it has a connection.
    pub(super) async fn connect(&mut self) -> Result<(Connection, (Target, Stamp)), Abandoned> {
        loop {
            if let Some(at) = self.breaker.probe_at() {
                self.refuse_until(at).await?;
                self.breaker.probe_started();
                self.publish_breaker();
            }
            let stamp = self.source.stamp();
            match self.source.read() {
                Ok(Some(target)) => {
                    self.gate.set_install_key(target.install_key);
                    match self.attempt(&target).await? {
                        Ok(connection) => {
                            self.breaker.probe_answered();
                            self.publish_breaker();
                            self.set_connected();
                            return Ok((connection, (target, stamp)));
                        }
                        Err(error) => self.fail(&error),
                    }
                }
                Ok(None) => {
                    let error = StoreError::new(Reason::NotConfigured, "there is no URL yet");
                    self.set_failing(&error);
                    self.refuse_waiting(&error);
                    self.refuse_until(clock::monotonic() + LOOK).await?;
                }
                Err(invalid) => {
                    let error = StoreError::new(Reason::Credentials, invalid.to_string());
                    self.fail(&error);
                    self.breaker_open_at_once();
                }
            }
        }
    }

    /// One attempt to connect. Decisions that arrive meanwhile wait for it until their deadline; when it takes longer
    /// than a decision may, and one waits, all are refused at once from then on.
    async fn attempt(&mut self, target: &Target) -> Result<Result<Connection, StoreError>, Abandoned> {
        let late = StoreError::new(Reason::Timeout, format!("{}: no connection in time", target.endpoint));
        let mut attempt = std::pin::pin!(timeout(self.waits.connect, Connection::open(target)));
        let mut too_long = std::pin::pin!(tokio::time::sleep(self.waits.call));
        loop {
            tokio::select! {
                result = &mut attempt => return Ok(result.unwrap_or(Err(late))),
                job = self.jobs.recv() => match job {
                    None => return Err(Abandoned),
                    Some(job) if self.breaker.state() == BreakerState::Closed => self.admit(job),
                    Some(job) => job.refuse(&Reason::BreakerOpen.into()),
                },
                () = &mut too_long, if !self.waiting.is_empty() => {
                    self.set_failing(&late);
                    self.breaker_open_at_once();
                    self.breaker.probe_started();
                    self.publish_breaker();
                    self.refuse_waiting(&late);
                }
            }
        }
    }

    async fn refuse_until(&mut self, at: Instant) -> Result<(), Abandoned> {
        let error = StoreError::from(self.gate.shut().unwrap_or(Reason::BreakerOpen));
        let mut wake = std::pin::pin!(sleep_until(at.into()));
        loop {
            tokio::select! {
                () = &mut wake => return Ok(()),
                job = self.jobs.recv() => match job {
                    None => return Err(Abandoned),
                    Some(job) => job.refuse(&error),
                },
            }
        }
    }
}
