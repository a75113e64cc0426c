//! The read side of an HTTP/1 client connection, below the HTTP library: lets bytes through only as far as they are
//! requests with one reading. What it rejects it replaces by a placeholder request, so that the answer to it is written
//! in its turn, behind the answers to the requests before it; after that nothing is let through any more.
mod framing;
mod head;
mod rejection;
mod scan;
mod signal;
#[cfg(test)]
mod tests;
mod write;

pub(crate) use framing::Framing;
use head::HeadLimits;
pub(crate) use rejection::Rejection;
pub(crate) use signal::Signal;

use super::limits::ProxyLimits;
use crate::clock;
use bytes::{Buf, BytesMut};
use scan::Scan;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Sleep;

/// What stands for rejected input; answered by [`Signal::next_request`]'s word, never forwarded.
const PLACEHOLDER: &[u8] = b"GET / HTTP/1.1\r\nHost: rejected\r\n\r\n";
/// What a client may send ahead of the answer to its upgrade.
const HELD_BYTES: usize = 64 << 10;

/// A guarded connection.
#[derive(Debug)]
pub(crate) struct Guard<S> {
    io: S,
    /// Read and not handed on.
    pending: BytesMut,
    /// How many of the pending bytes may be handed on.
    cleared: usize,
    expect: Expect,
    scan: Scan,
    passed: u64,
    limits: HeadLimits,
    head_time: Duration,
    idle_time: Duration,
    linger_time: Duration,
    wait: Option<Wait>,
    first_by: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    shut: bool,
    signal: Arc<Signal>,
}

/// What the next byte is.
#[derive(Clone, Copy, Debug)]
enum Expect {
    Head,
    Body {
        framing: Framing,
        may_upgrade: bool,
    },
    /// After a request that may become a tunnel, before its answer.
    Held,
    /// Broken inside a body, and not told yet.
    Broken(&'static str),
    /// Nothing of interest.
    Stopped,
}

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    FirstHead,
    Head,
    Idle,
    Linger,
}

impl<S> Guard<S> {
    /// Guards `io`, of which `prefix` has been read already; the first head is to be whole by `first_by`.
    pub(crate) fn new(io: S, prefix: &[u8], first_by: Instant, limits: &ProxyLimits, signal: Arc<Signal>) -> Self {
        let mut guard = Self {
            io,
            pending: BytesMut::new(),
            cleared: 0,
            expect: Expect::Head,
            scan: Scan::default(),
            passed: 0,
            limits: HeadLimits { head_bytes: limits.head_bytes, target_bytes: limits.target_bytes },
            head_time: limits.head_time,
            idle_time: limits.idle_time,
            linger_time: limits.linger_time,
            wait: None,
            first_by,
            timer: None,
            shut: false,
            signal,
        };
        guard.keep(BytesMut::from(prefix));
        guard
    }

    /// The connection and what was read from it and not handed on: the start of a tunnel.
    pub(crate) fn into_inner(self) -> (S, BytesMut) {
        (self.io, self.pending)
    }

    /// How many of these bytes, which follow what was handed on, may be handed on; and the rejection of what comes next.
    fn clear(&mut self, input: &[u8]) -> (usize, Option<Rejection>) {
        let mut at = 0;
        while at < input.len() {
            match self.step(&input[at..]) {
                Ok(0) => break,
                Ok(cleared) => at += cleared,
                Err(rejection) => return (at, Some(rejection)),
            }
        }
        (at, None)
    }

    /// One head, or a stretch of a body; 0 when nothing more can be let through now.
    fn step(&mut self, input: &[u8]) -> Result<usize, Rejection> {
        match &mut self.expect {
            Expect::Head => {
                let Some(end) = self.scan.find_end(input, &self.limits)? else { return Ok(0) };
                let head = head::read(&input[..end], &self.limits)?;
                self.scan = Scan::default();
                self.wait = None;
                self.passed += 1;
                self.expect = Expect::Body { framing: head.framing, may_upgrade: head.may_upgrade };
                self.end_body();
                Ok(end)
            }
            Expect::Body { framing, .. } => match framing.pass(input) {
                Ok(passed) => {
                    self.end_body();
                    Ok(passed)
                }
                Err(fault) => {
                    self.expect = Expect::Broken(fault.0);
                    Ok(0)
                }
            },
            Expect::Held | Expect::Broken(_) | Expect::Stopped => Ok(0),
        }
    }

    fn end_body(&mut self) {
        if let Expect::Body { framing, may_upgrade } = self.expect
            && framing.done()
        {
            self.expect = if may_upgrade { Expect::Held } else { Expect::Head };
        }
    }

    /// Keeps of `input`, which is all that is pending, what may be handed on, and the rest for later.
    fn keep(&mut self, mut input: BytesMut) {
        let (cleared, rejection) = self.clear(&input);
        self.cleared = cleared;
        if let Some(rejection) = rejection {
            input.truncate(cleared);
            self.pending = input;
            self.reject(rejection);
        } else {
            self.pending = input;
        }
    }

    /// Puts the placeholder behind what may still be handed on.
    fn reject(&mut self, rejection: Rejection) {
        self.signal.reject(self.passed, rejection);
        self.expect = Expect::Stopped;
        self.pending.truncate(self.cleared);
        self.pending.extend_from_slice(PLACEHOLDER);
        self.cleared = self.pending.len();
    }

    /// True when the time for what is awaited is over.
    fn poll_wait(&mut self, cx: &mut Context<'_>, wait: Wait) -> Poll<()> {
        if self.wait != Some(wait) {
            let deadline = match wait {
                Wait::FirstHead => self.first_by,
                Wait::Head => clock::now() + self.head_time,
                Wait::Idle => clock::now() + self.idle_time,
                Wait::Linger => clock::now() + self.linger_time,
            };
            self.set_timer(deadline);
            self.wait = Some(wait);
        }
        match &mut self.timer {
            Some(timer) => timer.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    fn set_timer(&mut self, deadline: Instant) {
        match &mut self.timer {
            Some(timer) => timer.as_mut().reset(deadline.into()),
            None => self.timer = Some(Box::pin(tokio::time::sleep_until(deadline.into()))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guard<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        loop {
            if this.cleared > 0 {
                let some = this.cleared.min(buf.remaining());
                buf.put_slice(&this.pending[..some]);
                this.pending.advance(some);
                this.cleared -= some;
                return Poll::Ready(Ok(()));
            }
            match this.expect {
                Expect::Stopped => return Poll::Pending,
                Expect::Broken(why) => {
                    this.signal.set_broken();
                    this.expect = Expect::Stopped;
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, why)));
                }
                Expect::Held if this.signal.take_release(cx.waker()) => {
                    this.expect = Expect::Head;
                    let input = std::mem::take(&mut this.pending);
                    this.keep(input);
                    continue;
                }
                Expect::Held if this.pending.len() >= HELD_BYTES => return Poll::Pending,
                Expect::Head | Expect::Body { .. } | Expect::Held => {}
            }
            // the caller's buffer is where bytes are read to in any case; most often they are let through as they are
            let start = buf.filled().len();
            if Pin::new(&mut this.io).poll_read(cx, buf)?.is_pending() {
                ready!(this.poll_late(cx));
                if this.cleared == 0 {
                    return Poll::Ready(Ok(()));
                }
                continue;
            }
            let fresh = &buf.filled()[start..];
            if fresh.is_empty() {
                return Poll::Ready(Ok(()));
            }
            if !this.pending.is_empty() {
                let mut input = std::mem::take(&mut this.pending);
                input.extend_from_slice(fresh);
                buf.set_filled(start);
                this.keep(input);
                continue;
            }
            let (cleared, rejection) = this.clear(fresh);
            if rejection.is_none() {
                this.pending.extend_from_slice(&fresh[cleared..]);
            }
            buf.set_filled(start + cleared);
            if let Some(rejection) = rejection {
                this.reject(rejection);
            }
            if cleared > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

impl<S> Guard<S> {
    /// Ready when the client has been silent for too long: with a rejection to hand on, or with the end of the input.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if !matches!(self.expect, Expect::Head) {
            return Poll::Pending;
        }
        let wait = match (self.passed, self.pending.is_empty()) {
            (0, _) => Wait::FirstHead,
            (_, true) => Wait::Idle,
            (_, false) => Wait::Head,
        };
        loop {
            ready!(self.poll_wait(cx, wait));
            if wait != Wait::Idle {
                self.reject(Rejection::TooSlow);
                return Poll::Ready(());
            }
            let now = clock::now();
            let until = self.idle_until(now);
            if until <= now {
                self.expect = Expect::Stopped;
                return Poll::Ready(());
            }
            self.set_timer(until);
        }
    }

    /// A client that waits for its answer is not idle, however long that takes.
    fn idle_until(&self, now: Instant) -> Instant {
        match self.signal.idle_since(self.passed) {
            Some(since) => since + self.idle_time,
            None => now + self.idle_time.max(Duration::from_millis(1)),
        }
    }
}
