//! What callers hand to the worker of a Redis store, and the group of decisions that one call carries.

use std::collections::VecDeque;
use std::time::Instant;

use redis::{Cmd, Value, cmd};
use tokio::sync::oneshot;
use weir_limiter::{Batch, Check, Decision};

use crate::key::StateKey;
use crate::reason::{Reason, StoreError};

/// Checks in one call: about a millisecond in which Redis serves nobody else. More in a call saves next to nothing.
const CHECKS_IN_A_CALL: usize = 256;

/// One thing to ask Redis.
pub(crate) enum Job {
    Decide(Request),
    Command { command: Cmd, reply: Reply<Value> },
}

/// One request's checks; nobody awaits the reply after the deadline.
pub(crate) struct Request {
    pub(crate) checks: Vec<Check<StateKey>>,
    pub(crate) deadline: Instant,
    pub(crate) reply: Reply<Decision>,
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Requests that go out as one call; used again for the next one.
#[derive(Default)]
pub(crate) struct Group {
    batch: Batch,
    replies: Vec<Reply<Decision>>,
}

// === impl Job ===

impl Job {
    pub(crate) fn refuse(self, error: &StoreError) {
        // a caller that has gone needs no answer
        match self {
            Self::Decide(request) => drop(request.reply.send(Err(error.clone()))),
            Self::Command { reply, .. } => drop(reply.send(Err(error.clone()))),
        }
    }
}

// === impl Group ===

impl Group {
    /// Takes from the front of the queue what fits into one call, and drops what nobody awaits any more. Tells
    /// whether there is anything to ask.
    pub(crate) fn fill(&mut self, queue: &mut VecDeque<Request>, now: Instant) -> bool {
        self.batch.clear();
        self.replies.clear();
        let mut checks = 0;
        while let Some(request) = queue.pop_front() {
            if request.deadline <= now || request.reply.is_closed() {
                continue;
            }
            checks += request.checks.len();
            if checks > CHECKS_IN_A_CALL && !self.replies.is_empty() {
                queue.push_front(request);
                break;
            }
            self.batch.push(&request.checks);
            self.replies.push(request.reply);
        }
        !self.replies.is_empty()
    }

    /// How many decisions the call carries.
    pub(crate) fn len(&self) -> usize {
        self.replies.len()
    }

    /// The call.
    pub(crate) fn command(&self, script: &str) -> Cmd {
        let mut command = cmd("EVALSHA");
        command.arg(script).arg(self.batch.distinct_keys());
        for key in self.batch.keys() {
            command.arg(key);
        }
        for arg in self.batch.args() {
            command.arg(arg);
        }
        command
    }

    /// Hands out what the call answered.
    pub(crate) fn settle(&mut self, answer: Result<Value, StoreError>) -> Result<(), StoreError> {
        let decisions = answer.and_then(|value| match value {
            Value::BulkString(reply) => self
                .batch
                .read_reply(&reply)
                .map(|reply| reply.decisions)
                .map_err(|error| StoreError::new(Reason::Protocol, format!("the script's reply: {error}"))),
            _ => Err(StoreError::new(Reason::Protocol, "the script's reply is not a string")),
        });
        match decisions {
            Ok(decisions) => {
                for (reply, decision) in self.replies.drain(..).zip(decisions) {
                    let _ = reply.send(Ok(decision));
                }
                Ok(())
            }
            Err(error) => {
                for reply in self.replies.drain(..) {
                    let _ = reply.send(Err(error.clone()));
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
