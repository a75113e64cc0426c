//! Bodies on their way: nothing is gathered, each piece is asked for when the other side has room.
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Sleep;

/// The body of an answer to the client.
#[derive(Debug)]
pub(crate) enum ProxyBody {
    /// One piece, or none.
    Full(Option<Bytes>),
    /// What the application sends.
    Stream(Incoming),
}

/// The body of a request to the application.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// None.
    Empty,
    /// What the client sends.
    Stream(Incoming),
    /// What the client sends once it was told to go on.
    Waiting(Incoming, Box<Waiting>),
}

/// A client that asked whether its body is wanted (`Expect: 100-continue`) is told so by the first look at its body; so
/// that waits for the application's own 100, or a while.
#[derive(Debug)]
pub(crate) struct Waiting {
    told: Pin<Box<OwnedNotified>>,
    late: Pin<Box<Sleep>>,
    go: Arc<Go>,
}

/// The application's word about the body.
#[derive(Debug, Default)]
pub(crate) struct Go {
    notify: Arc<Notify>,
    answered: AtomicBool,
    given: AtomicBool,
}

impl ProxyBody {
    /// A text.
    #[must_use]
    pub(crate) fn text(text: &'static str) -> Self {
        Self::Full(Some(Bytes::from_static(text.as_bytes())))
    }

    /// Nothing.
    #[must_use]
    pub(crate) fn empty() -> Self {
        Self::Full(None)
    }
}

impl Go {
    /// The application wants the body.
    pub(crate) fn on(&self) {
        self.notify.notify_one();
    }

    /// True when the body was asked for.
    pub(crate) fn was_given(&self) -> bool {
        self.given.load(Relaxed)
    }

    /// The application answered without it: it is never asked for.
    pub(crate) fn never(&self) {
        self.answered.store(true, Relaxed);
    }
}

impl RequestBody {
    /// A body that waits for the word.
    #[must_use]
    pub(crate) fn waiting(body: Incoming, go: Arc<Go>, time: Duration) -> Self {
        let told = Box::pin(Arc::clone(&go.notify).notified_owned());
        Self::Waiting(body, Box::new(Waiting { told, late: Box::pin(tokio::time::sleep(time)), go }))
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(body) => body.size_hint(),
        }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Self::Waiting(_, waiting) = this {
            ready!(waiting.poll(cx));
            if let Self::Waiting(body, _) = std::mem::replace(this, Self::Empty) {
                *this = Self::Stream(body);
            }
        }
        match this {
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
            Self::Empty | Self::Waiting(..) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Stream(body) | Self::Waiting(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(body) | Self::Waiting(body, _) => body.size_hint(),
        }
    }
}

impl Waiting {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.go.answered.load(Relaxed) {
            return Poll::Pending;
        }
        if self.told.as_mut().poll(cx).is_ready() || self.late.as_mut().poll(cx).is_ready() {
            self.go.given.store(true, Relaxed);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}
