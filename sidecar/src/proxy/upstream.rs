//! The one connection to the application that belongs to one client connection: opened at the first admitted request,
//! never shared, so that what the application ties to a connection is tied to one client, and closes travel both ways.
mod watched;

use super::body::RequestBody;
use super::limits::ProxyLimits;
use super::route::Target;
use http::{Method, Request, Response, Version};
use hyper::body::{Body, Incoming};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::TcpStream;
use tokio::sync::{Mutex as AsyncMutex, Notify};
use tokio::task::AbortHandle;
use watched::Watched;

/// The connection type of the application's side, as an upgrade gives it back.
pub(crate) type UpstreamIo = TokioIo<Watched<TcpStream>>;

/// Why there is no answer of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UpstreamError {
    /// It can't be reached.
    Connect,
    /// It closed the connection without answering.
    Reset,
}

/// The application behind one client connection.
#[derive(Debug)]
pub(crate) struct Upstream {
    target: Target,
    limits: Arc<ProxyLimits>,
    /// Told when a connection to the application has ended.
    gone: Arc<Notify>,
    quiet: Arc<AtomicBool>,
    http1: Mutex<Option<(http1::SendRequest<RequestBody>, watched::Seen)>>,
    http2: AsyncMutex<Option<http2::SendRequest<RequestBody>>>,
    tasks: Mutex<Vec<AbortHandle>>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        for task in self.tasks.get_mut().unwrap_or_else(PoisonError::into_inner) {
            task.abort();
        }
    }
}

impl Upstream {
    /// Not connected yet. `gone` is told when a connection has ended.
    #[must_use]
    pub(crate) fn new(target: Target, limits: Arc<ProxyLimits>, gone: Arc<Notify>) -> Self {
        Self {
            target,
            limits,
            gone,
            quiet: Arc::default(),
            http1: Mutex::default(),
            http2: AsyncMutex::default(),
            tasks: Mutex::default(),
        }
    }

    /// Sends a request and waits for the answer's head, however long that takes. It is sent once more on a new connection
    /// if the one at hand turned out to be closed and nothing of the request can have had an effect.
    ///
    /// # Errors
    /// When there is no answer.
    pub(crate) async fn send(&self, request: Request<RequestBody>) -> Result<Response<Incoming>, UpstreamError> {
        if request.version() == Version::HTTP_2 {
            return match self.send2(request).await {
                Err(Lost { reused: true, unsent: Some(request), .. }) => {
                    self.send2(request).await.map_err(|lost| lost.error)
                }
                sent => sent.map_err(|lost| lost.error),
            };
        }
        let copy = if self.is_connected() && is_replayable(&request) { Some(copy(&request)) } else { None };
        let lost = match self.send1(request).await {
            Ok(response) => return Ok(response),
            Err(lost) => lost,
        };
        let again = match (lost.unsent, copy) {
            (Some(request), _) if lost.reused => request,
            (None, Some(copy)) if lost.reused && !lost.answered => copy,
            _ => return Err(lost.error),
        };
        self.send1(again).await.map_err(|lost| lost.error)
    }

    fn is_connected(&self) -> bool {
        self.http1.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The next answer may turn the connection into a tunnel; its end as an HTTP connection is not told to `gone` then.
    pub(crate) fn may_become_tunnel(&self) {
        self.quiet.store(true, SeqCst);
    }

    /// It did not.
    pub(crate) fn stays_http(&self) {
        self.quiet.store(false, SeqCst);
        let kept = self.http1.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_some_and(|(sender, _)| sender.is_closed()) {
            self.gone.notify_one();
        }
    }

    async fn send1(&self, request: Request<RequestBody>) -> Result<Response<Incoming>, Lost> {
        let kept = self.http1.lock().unwrap_or_else(PoisonError::into_inner).take();
        let usable = match kept {
            Some((mut sender, seen)) => sender.ready().await.is_ok().then_some((sender, seen)),
            None => None,
        };
        let reused = usable.is_some();
        let (mut sender, seen) = match usable {
            Some(usable) => usable,
            None => self.connect1().await.map_err(|error| Lost::new(error, false))?,
        };
        seen.reset();
        match sender.try_send_request(request).await {
            Ok(response) => {
                *self.http1.lock().unwrap_or_else(PoisonError::into_inner) = Some((sender, seen));
                Ok(response)
            }
            Err(mut error) => Err(Lost {
                unsent: error.take_message(),
                answered: seen.any(),
                ..Lost::new(UpstreamError::Reset, reused)
            }),
        }
    }

    async fn send2(&self, request: Request<RequestBody>) -> Result<Response<Incoming>, Lost> {
        let (mut sender, reused) = {
            // held while connecting: who comes meanwhile shares the new connection
            let mut kept = self.http2.lock().await;
            match &*kept {
                Some(sender) if !sender.is_closed() => (sender.clone(), true),
                _ => {
                    let sender = self.connect2().await.map_err(|error| Lost::new(error, false))?;
                    (kept.insert(sender).clone(), false)
                }
            }
        };
        match sender.try_send_request(request).await {
            Ok(response) => Ok(response),
            Err(mut error) => Err(Lost { unsent: error.take_message(), ..Lost::new(UpstreamError::Reset, reused) }),
        }
    }

    async fn connect1(&self) -> Result<(http1::SendRequest<RequestBody>, watched::Seen), UpstreamError> {
        let (io, seen) = self.connect().await?;
        let (sender, connection) = http1::Builder::new()
            .preserve_header_case(true)
            .max_headers(super::limits::FIELDS)
            .handshake(io)
            .await
            .map_err(|_| UpstreamError::Reset)?;
        self.drive(connection.with_upgrades());
        Ok((sender, seen))
    }

    async fn connect2(&self) -> Result<http2::SendRequest<RequestBody>, UpstreamError> {
        let (io, _) = self.connect().await?;
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(64 << 10)
            .initial_connection_window_size(256 << 10)
            .max_header_list_size(64 << 10)
            .handshake(io)
            .await
            .map_err(|_| UpstreamError::Reset)?;
        self.drive(connection);
        Ok(sender)
    }

    async fn connect(&self) -> Result<(UpstreamIo, watched::Seen), UpstreamError> {
        let stream = self.target.connect(self.limits.connect_time).await.map_err(|error| {
            tracing::debug!(%error, target = ?self.target, "the application can't be reached");
            UpstreamError::Connect
        })?;
        let (watched, seen) = Watched::new(stream);
        Ok((TokioIo::new(watched), seen))
    }

    fn drive(&self, connection: impl Future<Output = hyper::Result<()>> + Send + 'static) {
        let (gone, quiet) = (Arc::clone(&self.gone), Arc::clone(&self.quiet));
        let task = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the application failed");
            }
            if !quiet.load(SeqCst) {
                gone.notify_one();
            }
        });
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.retain(|task| !task.is_finished());
        tasks.push(task.abort_handle());
    }
}

/// A request without an answer.
struct Lost {
    error: UpstreamError,
    /// It was to go out on a connection that had been used before, which the application may close at any time.
    reused: bool,
    /// The request, if nothing of it was sent.
    unsent: Option<Request<RequestBody>>,
    /// Something came back.
    answered: bool,
}

impl Lost {
    fn new(error: UpstreamError, reused: bool) -> Self {
        Self { error, reused, unsent: None, answered: false }
    }
}

/// Without a body, and with a method of RFC 9110 §9.2.2; an unknown one may do anything.
fn is_replayable(request: &Request<RequestBody>) -> bool {
    let method = request.method();
    let idempotent = [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE, Method::TRACE];
    request.body().is_end_stream() && idempotent.contains(method)
}

fn copy(request: &Request<RequestBody>) -> Request<RequestBody> {
    let mut copy = Request::new(RequestBody::Empty);
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.version_mut() = request.version();
    copy.headers_mut().clone_from(request.headers());
    copy.extensions_mut().clone_from(request.extensions());
    copy
}
