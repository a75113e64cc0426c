//! Credentials that change while a connection works: the next connection is made beside it and takes its place only
//! once it answers, so that a Secret which is changed before its server, or wrongly, costs no decision.

use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::connection::Connection;
use crate::credentials::{Source, Stamp, Target};
use crate::reason::{Reason, StoreError};

/// What the connection in use was made with, and the attempt at another, if one is under way.
pub(super) struct Rotation {
    used: Target,
    stamp: Stamp,
    /// The last attempt failed: it is made again at the next look.
    failed: bool,
    attempt: Option<JoinHandle<Opened>>,
}

/// What came of an attempt.
pub(super) type Opened = (Target, Result<Connection, StoreError>);

impl Rotation {
    pub(super) fn new(used: Target, stamp: Stamp) -> Self {
        Self { used, stamp, failed: false, attempt: None }
    }

    /// Begins an attempt if the credentials have changed.
    pub(super) fn look(&mut self, source: &Source, bound: Duration) {
        let stamp = source.stamp();
        if self.attempt.is_some() || (stamp == self.stamp && !self.failed) {
            return;
        }
        let first = stamp != self.stamp;
        self.stamp = stamp;
        match source.read() {
            Ok(Some(target)) if target != self.used => {
                self.attempt = Some(tokio::spawn(async move {
                    let opened = timeout(bound, Connection::open(&target)).await;
                    let opened = opened.unwrap_or_else(|_| Err(StoreError::from(Reason::Timeout)));
                    (target, opened)
                }));
            }
            // a Secret that is gone or as it was leaves a working connection alone
            Ok(_) => self.failed = false,
            Err(invalid) if first => tracing::warn!("the store's credentials changed and can't be used: {invalid}"),
            Err(_) => {}
        }
    }

    /// Whether [`Rotation::opened`] would answer at once.
    pub(super) fn is_done(&self) -> bool {
        self.attempt.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Ends when an attempt has ended. May be dropped half way and called again.
    pub(super) async fn opened(&mut self) -> Option<Connection> {
        let ended = match &mut self.attempt {
            Some(attempt) => attempt.await,
            None => std::future::pending().await,
        };
        self.attempt = None;
        match ended {
            Ok((target, Ok(connection))) => {
                tracing::info!("the store's credentials changed: connected again");
                self.failed = false;
                self.used = target;
                Some(connection)
            }
            Ok((_, Err(error))) => {
                if !std::mem::replace(&mut self.failed, true) {
                    tracing::warn!(
                        reason = error.reason(),
                        "the store's credentials changed and do not work yet: {error}"
                    );
                }
                None
            }
            Err(_) => None,
        }
    }

    /// What the connection in use was made with.
    pub(super) fn used(&self) -> &Target {
        &self.used
    }
}

impl Drop for Rotation {
    fn drop(&mut self) {
        if let Some(attempt) = &self.attempt {
            attempt.abort();
        }
    }
}
