//! One accepted connection from its first byte to its last.
use super::body::Accompanied;
use super::client::ClientSocket;
use super::exchange;
use super::gate::Gate;
use super::guard::Guard;
use super::limits::FIELDS;
use super::prefixed::Prefixed;
use super::route::{self, Destination, Upstream};
use super::session::Session;
use super::sniff::{Prefix, Spoken, sniff};
use super::{Proxy, tunnel};
use crate::clock;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// What a client gets that connects and says nothing.
const SILENT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nweir-error: malformed\r\nconnection: close\r\n\r\n";

/// What the HTTP library reads ahead unless told otherwise; a head that is let through must fit.
const BUFFER: usize = 408 << 10;

/// Serves a connection to its end.
pub(crate) async fn serve<G: Gate>(proxy: Arc<Proxy<G>>, mut stream: TcpStream, peer: SocketAddr, upstream: Upstream) {
    let Some(Destination { target, tls }) = upstream.destination(&stream) else {
        proxy.metrics.rejected_destination.inc();
        return route::reset(stream);
    };
    route::prepare(&stream);
    let session = Session::new(proxy, peer.ip(), target.clone());
    let (limits, metrics) = (&session.proxy.limits, &session.proxy.metrics);
    if tls {
        metrics.unlimited_tls.inc();
        match target.connect(limits.connect_time).await {
            Ok(mut application) => {
                // whoever breaks off has seen the other do so, or is gone
                let _ = tunnel::pass(&mut stream, &mut application).await;
            }
            Err(_) => route::reset(stream),
        }
        return;
    }
    let first_by = clock::now() + limits.head_time;
    let sniffed = tokio::select! {
        sniffed = tokio::time::timeout_at(first_by.into(), sniff(&mut stream)) => sniffed,
        () = session.last_word() => return,
    };
    match sniffed {
        Err(_) => {
            let _ = stream.write_all(SILENT).await;
            session.proxy.metrics.answered(http::StatusCode::REQUEST_TIMEOUT);
        }
        Ok(Ok((Spoken::Http1, prefix))) => serve1(session, stream, prefix, first_by).await,
        Ok(Ok((Spoken::Http2, prefix))) => serve2(session, stream, prefix).await,
        Ok(Ok((Spoken::Tls, _))) => {
            metrics.rejected_tls.inc();
        }
        Ok(Ok((Spoken::Nothing, _)) | Err(_)) => {}
    }
}

async fn serve1<G: Gate>(mut session: Session<G>, stream: TcpStream, prefix: Prefix, first_by: Instant) {
    let socket = ClientSocket::new(stream);
    session.on_socket(socket.clone());
    let session = Arc::new(session);
    let guard = Guard::new(socket, prefix.bytes(), first_by, &session.proxy.limits, Arc::clone(&session.signal));
    let answering = Arc::clone(&session);
    let service = service_fn(move |request| {
        let session = Arc::clone(&answering);
        async move {
            let under_way = session.signal.under_way();
            let response = exchange::answer(&session, request).await;
            Ok::<_, Infallible>(response.map(|body| Accompanied::new(body, under_way)))
        }
    });
    let connection = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(FIELDS)
        .max_buf_size(BUFFER.max(session.proxy.limits.head_bytes + (64 << 10)))
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(guard), service)
        .with_upgrades();
    {
        let mut connection = pin!(connection);
        let mut closing = pin!(session.closing1());
        let served = tokio::select! {
            biased;
            served = connection.as_mut() => served,
            () = closing.as_mut() => {
                connection.as_mut().graceful_shutdown();
                connection.as_mut().await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, peer = %session.peer, "a client connection failed");
        }
    }
    if let Some(tunnel) = session.take_tunnel()
        && let Err(error) = tunnel.run().await
    {
        tracing::debug!(%error, peer = %session.peer, "a tunnel broke off");
    }
}

async fn serve2<G: Gate>(session: Session<G>, stream: TcpStream, prefix: Prefix) {
    let session = Arc::new(session);
    let answering = Arc::clone(&session);
    let service = service_fn(move |request| {
        let session = Arc::clone(&answering);
        async move {
            let mut begun = session.streams.begin();
            let response = exchange::answer(&session, request).await;
            begun.answered();
            Ok::<_, Infallible>(response.map(|body| Accompanied::new(body, begun)))
        }
    });
    let limits = &session.proxy.limits;
    let head_bytes = u32::try_from(limits.head_bytes).unwrap_or(u32::MAX);
    let connection = http2::Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .max_concurrent_streams(100)
        .initial_stream_window_size(64 << 10)
        .initial_connection_window_size(256 << 10)
        .max_header_list_size(head_bytes)
        .max_pending_accept_reset_streams(usize::try_from(limits.resets).unwrap_or(usize::MAX))
        .serve_connection(TokioIo::new(Prefixed::new(stream, prefix)), service);
    let mut connection = pin!(connection);
    let mut closing = pin!(session.closing2());
    let served = tokio::select! {
        biased;
        served = connection.as_mut() => served,
        () = closing.as_mut() => {
            connection.as_mut().graceful_shutdown();
            // its end waits for an answer of the client's, which may never come
            tokio::select! {
                served = connection.as_mut() => served,
                () = session.overdue2() => Ok(()),
            }
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, peer = %session.peer, "a client connection failed");
    }
}
