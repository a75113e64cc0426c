//! The requests of one call, in order, where those that ask the same are one: a hot key costs Redis one decision, however
//! many callers ask for it at once.
//!
//! A request joins an earlier one of the same checks only where nothing between them touches one of their keys. So the
//! answers are those of the order in which the requests came, and nobody's turn in a queue goes to who came later.

use std::collections::HashMap;

use weir_limiter::{Batch, Check, Decision};

use super::{Reply, Request};
use crate::key::StateKey;

#[derive(Default)]
pub(super) struct Asked {
    entries: Vec<Entry>,
    /// The last entry that touches each key.
    last: HashMap<StateKey, usize>,
    /// Of all entries together.
    requests: usize,
}

/// Requests of the same checks.
struct Entry {
    checks: Vec<Check<StateKey>>,
    first: Reply<Decision>,
    others: Vec<Reply<Decision>>,
}

// === impl Asked ===

impl Asked {
    /// How many requests.
    pub(super) fn len(&self) -> usize {
        self.requests
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests == 0
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.last.clear();
        self.requests = 0;
    }

    /// Takes a request that costs the call nothing more, and gives back any other.
    pub(super) fn join(&mut self, request: Request) -> Option<Request> {
        let Some(entry) = self.same(&request.checks) else { return Some(request) };
        entry.others.push(request.reply);
        self.requests += 1;
        None
    }

    /// Takes a request as an entry of its own.
    pub(super) fn push(&mut self, request: Request) {
        self.last.extend(request.checks.iter().map(|check| (check.key, self.entries.len())));
        self.entries.push(Entry { checks: request.checks, first: request.reply, others: Vec::new() });
        self.requests += 1;
    }

    pub(super) fn pack(&self, batch: &mut Batch) {
        for entry in &self.entries {
            batch.push_many(&entry.checks, entry.number());
        }
    }

    /// Takes the replies out, in the order of the batch's decisions.
    pub(super) fn replies(&mut self) -> impl Iterator<Item = Reply<Decision>> {
        self.requests = 0;
        self.entries.drain(..).flat_map(|entry| std::iter::once(entry.first).chain(entry.others))
    }

    fn same(&mut self, checks: &[Check<StateKey>]) -> Option<&mut Entry> {
        let number = *self.last.get(&checks.first()?.key)?;
        let untouched = checks.iter().all(|check| self.last.get(&check.key) == Some(&number));
        let entry = self.entries.get_mut(number)?;
        let joins = untouched && entry.checks == checks && entry.number() < u16::MAX && Batch::coalesces(checks);
        joins.then_some(entry)
    }
}

// === impl Entry ===

impl Entry {
    fn number(&self) -> u16 {
        // one more never joins
        u16::try_from(self.others.len() + 1).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests;
