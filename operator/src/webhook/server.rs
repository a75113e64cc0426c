//! HTTPS around the two webhooks: connections, bounds on size and time, and answers as AdmissionReview also when the request
//! makes no sense.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Body;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::{conn::auto, graceful::GracefulShutdown};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

use super::review::{Answer, Outcome, Review};
use super::{Webhook, mutate, validate};
use crate::certificate::{ServingCertificate, server_config};
use crate::clock;

/// The API server's own bound on a request is 3 MiB; a review holds the object twice at most.
const LARGEST_BODY: usize = 8 << 20;
/// Within the 3 s that the webhook configurations give: an answer that says why beats one that never comes.
const ANSWERED_WITHIN: Duration = Duration::from_millis(2500);
/// For the TLS handshake.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(3);
/// An idle connection is closed after this. Longer than the 90 s after which the API server closes its own: were we first, a
/// review could meet the closing connection and fail.
const IDLE_WITHIN: Duration = Duration::from_secs(150);
/// What is still under way when the server stops gets this long.
const DRAINED_WITHIN: Duration = Duration::from_secs(5);
/// Pause after the system refused a connection, such as for lack of file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Answers on `listener` until `stop` resolves, and then lets what is under way finish (5 s at most).
///
/// # Errors
/// When rustls refuses its own defaults.
pub async fn serve(
    listener: TcpListener,
    certificate: Arc<ServingCertificate>,
    webhook: Arc<Webhook>,
    stop: impl Future<Output = ()> + Send,
) -> Result<(), rustls::Error> {
    let acceptor = TlsAcceptor::from(Arc::new(server_config(certificate)?));
    let connections = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    warn!(%error, "accepting a webhook connection failed");
                    tokio::time::sleep(ACCEPT_AGAIN).await;
                    continue;
                }
            },
        };
        tokio::spawn(connection(stream, acceptor.clone(), webhook.clone(), connections.watcher()));
    }
    drop(listener);
    if tokio::time::timeout(DRAINED_WITHIN, connections.shutdown()).await.is_err() {
        warn!("webhook connections were still busy when the server stopped");
    }
    Ok(())
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    webhook: Arc<Webhook>,
    watcher: hyper_util::server::graceful::Watcher,
) {
    let tls = match tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await {
        Ok(Ok(tls)) => tls,
        Ok(Err(error)) => return debug!(%error, "a webhook connection failed in its handshake"),
        Err(_) => return debug!("a webhook connection did not finish its handshake"),
    };
    let service = hyper::service::service_fn(move |request| {
        let webhook = webhook.clone();
        async move { Ok::<_, Infallible>(respond(request, &webhook).await) }
    });
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(IDLE_WITHIN);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(256);
    let connection = builder.serve_connection(TokioIo::new(tls), service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        debug!(%error, "a webhook connection ended early");
    }
}

/// One request, from its headers to its answer.
pub(super) async fn respond<B>(request: Request<B>, webhook: &Webhook) -> Response<Full<Bytes>>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let path = match request.uri().path() {
        "/mutate" => "mutate",
        "/validate" => "validate",
        _ => return plain(StatusCode::NOT_FOUND, "nothing here; the webhooks are /mutate and /validate\n"),
    };
    if request.method() != Method::POST {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only POST of an AdmissionReview\n");
    }
    let begun = clock::instant();
    let work = async {
        let body = match Limited::new(request.into_body(), LARGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return Reply::failed(413, "the review is larger than 8 MiB");
            }
            Err(error) => return Reply::failed(400, &format!("the review did not arrive: {error}")),
        };
        answer(path, &body, webhook).await
    };
    let reply = match tokio::time::timeout(ANSWERED_WITHIN, work).await {
        Ok(reply) => reply,
        Err(_) => Reply::failed(504, "no answer within 2.5 s"),
    };
    webhook.metrics.answered(path, reply.outcome, begun.elapsed());
    let body = reply.answer.to_review(&reply.uid).to_string();
    let mut response = Response::new(Full::new(body.into()));
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    if reply.outcome == Outcome::Failed
        && let Answer::Deny { code, .. } = reply.answer
    {
        // Not 200: a review that failed says nothing about the object, and the API server goes by its failurePolicy.
        *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::BAD_REQUEST);
    }
    response
}

struct Reply {
    uid: String,
    answer: Answer,
    outcome: Outcome,
}

impl Reply {
    fn failed(code: u16, message: &str) -> Self {
        warn!(code, message, "an admission review failed");
        Self { uid: String::new(), answer: Answer::failed(code, message), outcome: Outcome::Failed }
    }
}

async fn answer(path: &str, body: &[u8], webhook: &Webhook) -> Reply {
    let kind = if path == "mutate" { "Pod" } else { "RateLimitPolicy" };
    let request = match Review::read(body, kind) {
        Ok(request) => request,
        Err(message) => return Reply::failed(400, &message),
    };
    let (answer, outcome) = if path == "mutate" {
        match webhook.namespaces.facts(&request.namespace).await {
            Ok(namespace) => mutate::answer(&request.object, &namespace, &webhook.injector),
            Err(error) => return Reply { uid: request.uid, ..Reply::failed(500, &error.to_string()) },
        }
    } else {
        validate::answer(&request)
    };
    debug!(path, namespace = %request.namespace, name = %request.name, outcome = outcome.as_str(), "answered a review");
    Reply { uid: request.uid, answer, outcome }
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests;
