//! What callers hand to the worker of a Redis store, and the group of decisions and refunds that one call carries.

mod asked;

use std::collections::VecDeque;
use std::time::Instant;

use redis::{Cmd, Value, cmd};
use tokio::sync::oneshot;
use weir_limiter::{Batch, Check, Decision};

use crate::key::StateKey;
use crate::reason::{Reason, StoreError};
use crate::refunds::{Entry, Refund};
use asked::Asked;

/// Checks in one call, those of requests that ask the same counted once: about a millisecond in which Redis serves nobody
/// else. More in a call saves next to nothing.
const CHECKS_IN_A_CALL: usize = 256;

/// One thing to ask Redis.
pub(crate) enum Job {
    Decide(Request),
    Refund(Refund),
    Command { command: Cmd, reply: Reply<Value> },
}

/// One request's checks; nobody awaits the reply after the deadline.
pub(crate) struct Request {
    pub(crate) checks: Vec<Check<StateKey>>,
    pub(crate) deadline: Instant,
    pub(crate) reply: Reply<Decision>,
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// Refunds and requests that go out as one call; used again for the next one.
#[derive(Default)]
pub(crate) struct Group {
    batch: Batch,
    refunds: Vec<(usize, Entry)>,
    asked: Asked,
}

// === impl Job ===

impl Job {
    pub(crate) fn refuse(self, error: &StoreError) {
        // a caller that has gone needs no answer
        match self {
            Self::Decide(request) => drop(request.reply.send(Err(error.clone()))),
            // counted as lost
            Self::Refund(refund) => drop(refund),
            Self::Command { reply, .. } => drop(reply.send(Err(error.clone()))),
        }
    }
}

// === impl Group ===

impl Group {
    /// Takes from the front of the queues what fits into one call, and drops what nobody awaits any more and what is too
    /// late to be given back. Tells whether there is anything to ask. Refunds come first, for the requests may need them, but
    /// take no more than half of a call.
    pub(crate) fn fill(&mut self, refunds: &mut VecDeque<Refund>, queue: &mut VecDeque<Request>, now: Instant) -> bool {
        self.batch.clear();
        self.asked.clear();
        self.refunds.clear();
        let mut checks = 0;
        while let Some(refund) = refunds.pop_front() {
            if refund.deadline <= now {
                continue;
            }
            if checks + refund.len() > CHECKS_IN_A_CALL / 2 && checks > 0 {
                refunds.push_front(refund);
                break;
            }
            checks += refund.len();
            let number = refund.len();
            let (charges, entry) = refund.take();
            charges.for_each(|(key, receipt)| self.batch.push_refund(key, receipt));
            self.refunds.push((number, entry));
        }
        while let Some(request) = queue.pop_front() {
            if request.deadline <= now || request.reply.is_closed() {
                continue;
            }
            let Some(request) = self.asked.join(request) else { continue };
            checks += request.checks.len();
            if checks > CHECKS_IN_A_CALL && !self.asked.is_empty() {
                queue.push_front(request);
                break;
            }
            self.asked.push(request);
        }
        self.asked.pack(&mut self.batch);
        !self.batch.is_empty()
    }

    /// How many decisions the call carries.
    pub(crate) fn len(&self) -> usize {
        self.asked.len()
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
        let answer = answer.and_then(|value| match value {
            Value::BulkString(reply) => self
                .batch
                .read_reply(&reply)
                .map_err(|error| StoreError::new(Reason::Protocol, format!("the script's reply: {error}"))),
            _ => Err(StoreError::new(Reason::Protocol, "the script's reply is not a string")),
        });
        match answer {
            Ok(answer) => {
                let mut given_back = answer.refunds.into_iter();
                for (number, entry) in self.refunds.drain(..) {
                    entry.settle(given_back.by_ref().take(number));
                }
                for (reply, decision) in self.asked.replies().zip(answer.decisions) {
                    let _ = reply.send(Ok(decision));
                }
                Ok(())
            }
            Err(error) => {
                self.refunds.clear();
                for reply in self.asked.replies() {
                    let _ = reply.send(Err(error.clone()));
                }
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests;
