//! The requests of one HTTP/2 connection: how many have begun and ended, and how many the client took back.
use crate::clock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// In which resets of a client are counted.
const RESET_WINDOW: Duration = Duration::from_secs(10);

/// What is known of them; shared by the connection and each request under way.
#[derive(Debug)]
pub(crate) struct Streams {
    started: AtomicU64,
    ended: AtomicU64,
    first: Notify,
    abuse: Notify,
    abused: AtomicBool,
    resets: Mutex<Option<(Instant, u32)>>,
    resets_allowed: u32,
}

/// A request under way, from its head to the last of its answer's body.
#[derive(Debug)]
pub(crate) struct Begun {
    streams: Arc<Streams>,
    answered: bool,
}

impl Streams {
    /// None yet. More than `resets_allowed` resets in 10 s are abuse.
    pub(crate) fn new(resets_allowed: u32) -> Self {
        Self {
            started: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            first: Notify::new(),
            abuse: Notify::new(),
            abused: AtomicBool::new(false),
            resets: Mutex::default(),
            resets_allowed,
        }
    }

    /// A request has begun; what is returned tells when it ended, and whether by a reset.
    pub(crate) fn begin(self: &Arc<Self>) -> Begun {
        if self.started.fetch_add(1, Relaxed) == 0 {
            self.first.notify_one();
        }
        Begun { streams: Arc::clone(self), answered: false }
    }

    /// When the first request has begun.
    pub(crate) async fn first(&self) {
        self.first.notified().await;
    }

    /// When the client has reset too often.
    pub(crate) async fn abuse(&self) {
        self.abuse.notified().await;
    }

    /// When for a whole `time` nothing was under way.
    pub(crate) async fn idle(&self, time: Duration) {
        loop {
            let before = self.started.load(Relaxed);
            tokio::time::sleep(time).await;
            if self.is_quiet_since(before) {
                return;
            }
        }
    }

    /// When a client that was told to go has not gone: nothing is under way, and yet it doesn't answer; or it was sent
    /// away for abuse and goes on. It has `time` to hear of it.
    pub(crate) async fn overdue(&self, time: Duration) {
        tokio::time::sleep(time).await;
        loop {
            let before = self.started.load(Relaxed);
            tokio::time::sleep(time).await;
            let goes_on = self.abused.load(Relaxed) && self.started.load(Relaxed) != before;
            if goes_on || self.is_quiet_since(before) {
                return;
            }
        }
    }

    fn is_quiet_since(&self, before: u64) -> bool {
        before == self.started.load(Relaxed) && before == self.ended.load(Relaxed)
    }

    fn count_reset(&self) {
        let now = clock::now();
        let mut resets = self.resets.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = resets.filter(|(since, _)| now.duration_since(*since) < RESET_WINDOW).unwrap_or((now, 0));
        *resets = Some((since, count + 1));
        if count + 1 > self.resets_allowed {
            self.abused.store(true, Relaxed);
            self.abuse.notify_one();
        }
    }
}

impl Begun {
    /// It has its answer's head.
    pub(crate) fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.streams.ended.fetch_add(1, Relaxed);
        if !self.answered {
            self.streams.count_reset();
        }
    }
}
