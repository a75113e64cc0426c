//! What the guard of a connection and the one who answers its requests tell each other. They run in one task, in turns,
//! with hyper between them.
use super::Rejection;
use crate::clock;
use futures_util::task::AtomicWaker;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// Shared by a guard and its answerer.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    served: AtomicU64,
    /// How many requests have had their answers, and when the last one had.
    ended: Mutex<(u64, Option<Instant>)>,
    rejection: OnceLock<(u64, Rejection)>,
    broken: AtomicBool,
    linger: AtomicBool,
    released: AtomicBool,
    waker: AtomicWaker,
}

/// A request under way, until its answer has been handed over to the last byte.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Signal>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut ended = self.0.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *ended = (ended.0 + 1, Some(clock::now()));
    }
}

impl Signal {
    /// Called once for each request; what is returned is kept until its answer has ended.
    pub(crate) fn under_way(self: &Arc<Self>) -> UnderWay {
        UnderWay(Arc::clone(self))
    }

    /// Since when all of `passed` requests have had their answers; `None` while one is under way.
    pub(super) fn idle_since(&self, passed: u64) -> Option<Instant> {
        let (ended, at) = *self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        at.filter(|_| ended >= passed)
    }

    /// Called once for each request, in order: the rejection, if this is the request that stands for rejected input.
    pub(crate) fn next_request(&self) -> Option<Rejection> {
        let number = self.served.fetch_add(1, Relaxed);
        self.rejection.get().filter(|(at, _)| *at == number).map(|(_, rejection)| *rejection)
    }

    /// The input after `passed` requests is rejected.
    pub(super) fn reject(&self, passed: u64, rejection: Rejection) {
        // a guard rejects once and then stops, so there is never a second value
        let _ = self.rejection.set((passed, rejection));
        self.linger();
    }

    /// True when a request's body turned out to be framed wrongly.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Relaxed)
    }

    pub(super) fn set_broken(&self) {
        self.broken.store(true, Relaxed);
        self.linger();
    }

    /// The connection will be closed while its client may still be sending: read on for a while, so that the client gets
    /// to see the answer.
    pub(crate) fn linger(&self) {
        self.linger.store(true, Relaxed);
    }

    pub(super) fn lingers(&self) -> bool {
        self.linger.load(Relaxed)
    }

    /// The request that might have become a tunnel did not: what follows is the next request.
    pub(crate) fn release(&self) {
        self.released.store(true, SeqCst);
        self.waker.wake();
    }

    /// True once for each release; until then the waker is called by it.
    pub(super) fn take_release(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.released.swap(false, SeqCst)
    }
}
