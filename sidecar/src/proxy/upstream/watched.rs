//! A connection that remembers whether anything has been read from it.
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The connection.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    io: S,
    seen: Seen,
}

/// Whether something was read since the last reset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<AtomicBool>);

impl Seen {
    /// Forgets.
    pub(crate) fn reset(&self) {
        self.0.store(false, Relaxed);
    }

    /// True when something was read.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl<S> Watched<S> {
    /// Watches from now on.
    pub(crate) fn new(io: S) -> (Self, Seen) {
        let seen = Seen::default();
        (Self { io, seen: seen.clone() }, seen)
    }

    /// The connection.
    pub(crate) fn into_inner(self) -> S {
        self.io
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        let polled = Pin::new(&mut this.io).poll_read(cx, buf);
        if buf.filled().len() > before {
            this.seen.0.store(true, Relaxed);
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().io).poll_shutdown(cx)
    }
}
