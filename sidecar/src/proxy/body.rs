//! Bodies on their way: nothing is gathered, each piece is asked for when the other side has room.
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// None, under a head that tells of a length all the same (304). The HTTP library drops such a length where it knows
    /// that the body is empty.
    Untold,
}

/// A body with something that is dropped when it has ended, or when nobody wants it any more.
#[derive(Debug)]
pub(crate) struct Accompanied<W> {
    body: ProxyBody,
    _with: W,
}

/// The body of a request to the application.
#[derive(Debug)]
pub(crate) enum RequestBody {
    /// None.
    Empty,
    /// What the client sends.
    Stream(Incoming),
    /// What the client sends once it was told to go on.
    Waiting(Box<Waiting>),
}

/// A client that asked whether its body is wanted (`Expect: 100-continue`) is told so by the first look at its body; so
/// that waits for the application's own 100, or a while.
#[derive(Debug)]
pub(crate) struct Waiting {
    told: Pin<Box<OwnedNotified>>,
    late: Pin<Box<Sleep>>,
    size: SizeHint,
    go: Arc<Go>,
}

/// The application's word about the body.
#[derive(Debug)]
pub(crate) struct Go {
    notify: Arc<Notify>,
    /// Until it is asked for, or never will be.
    body: Mutex<Option<Incoming>>,
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

impl<W> Accompanied<W> {
    /// Keeps `with` as long as `body`.
    pub(crate) fn new(body: ProxyBody, with: W) -> Self {
        Self { body, _with: with }
    }
}

impl Go {
    /// Holds the body until the application's word, or for `time`; both ends of that.
    pub(crate) fn hold(body: Incoming, time: Duration) -> (Arc<Self>, RequestBody) {
        let size = body.size_hint();
        let go = Arc::new(Self { notify: Arc::default(), body: Mutex::new(Some(body)) });
        let told = Box::pin(Arc::clone(&go.notify).notified_owned());
        let late = Box::pin(tokio::time::sleep(time));
        (Arc::clone(&go), RequestBody::Waiting(Box::new(Waiting { told, late, size, go })))
    }

    /// The application wants the body.
    pub(crate) fn on(&self) {
        self.notify.notify_one();
    }

    /// The application has answered: a body that was not asked for by now never will be. True if it was not.
    pub(crate) fn over(&self) -> bool {
        self.take().is_some()
    }

    fn take(&self) -> Option<Incoming> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Body for ProxyBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
            Self::Untold => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Stream(body) => body.is_end_stream(),
            Self::Untold => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Stream(body) => body.size_hint(),
            Self::Untold => SizeHint::default(),
        }
    }
}

impl<W: Unpin> Body for Accompanied<W> {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = self.get_mut();
        if let Self::Waiting(waiting) = this {
            *this = Self::Stream(ready!(waiting.poll(cx)));
        }
        match this {
            Self::Stream(body) => Pin::new(body).poll_frame(cx),
            Self::Empty | Self::Waiting(_) => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Stream(body) => body.is_end_stream(),
            Self::Waiting(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Stream(body) => body.size_hint(),
            Self::Waiting(waiting) => waiting.size,
        }
    }
}

impl Waiting {
    /// The body once it is wanted; pending for ever when it is over.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Incoming> {
        if self.told.as_mut().poll(cx).is_ready() || self.late.as_mut().poll(cx).is_ready() {
            return self.go.take().map_or(Poll::Pending, Poll::Ready);
        }
        Poll::Pending
    }
}
