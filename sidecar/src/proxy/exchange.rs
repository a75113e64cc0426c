//! One request and its answer.
use super::answer;
use super::body::{Go, ProxyBody, RequestBody};
use super::gate::{Gate, LimitHeaders, Ruling};
use super::guard::Rejection;
use super::hold::{self, Waited};
use super::hop::{self, Hop};
use super::limits::{FIELDS, ForwardedFor, ProxyLimits};
use super::metrics::Counted;
use super::session::Session;
use super::tunnel::Tunnel;
use super::upstream::UpstreamError;
use crate::drain::Phase;
use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::upgrade::OnUpgrade;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The answer to a request, whatever happens.
pub(crate) async fn answer<G: Gate>(session: &Session<G>, request: Request<Incoming>) -> Response<ProxyBody> {
    let is_http1 = request.version() < Version::HTTP_2;
    let metrics = &session.proxy.metrics;
    // nothing of the session is left half-changed by a panic: it is changed by single calls only
    let mut response = AssertUnwindSafe(exchange(session, request)).catch_unwind().await.unwrap_or_else(|_| {
        metrics.panics.inc();
        close(answer::panicked())
    });
    if is_http1 {
        let switches = session.has_tunnel();
        if !switches && session.proxy.drain.phase() >= Phase::Draining {
            response = close(response);
        }
    } else {
        response.headers_mut().remove(header::CONNECTION);
    }
    metrics.answered(response.status());
    response
}

async fn exchange<G: Gate>(session: &Session<G>, mut request: Request<Incoming>) -> Response<ProxyBody> {
    let proxy = &session.proxy;
    let is_http1 = request.version() < Version::HTTP_2;
    if is_http1 {
        if let Some(rejection) = session.signal.next_request() {
            return close(answer::rejected(rejection));
        }
    } else if let Err(rejection) = check(&request, &proxy.limits) {
        return answer::rejected(rejection);
    }
    let has_body = !request.body().is_end_stream();
    if is_http1 && has_body {
        session.signal.linger();
    }
    if proxy.drain.phase() == Phase::Stopping {
        return close(answer::draining());
    }
    let may_upgrade = is_http1
        && (request.method() == Method::CONNECT
            || (request.version() == Version::HTTP_11 && request.headers().contains_key(header::UPGRADE)));
    let switch = may_upgrade.then(|| hyper::upgrade::on(&mut request));
    let (mut parts, body) = request.into_parts();
    let hop = hop::strip_request(&mut parts.headers, &parts.method, parts.version, &*proxy.gate);
    if is_http1 {
        set_host(&mut parts);
    }
    if parts.method == Method::CONNECT && !(is_http1 && proxy.limits.connect) {
        session.signal.linger();
        return close(answer::no_connect());
    }
    let response = match proxy.gate.rule(&parts, has_body, session.peer).await {
        Ruling::Refuse(response) => refuse(&proxy.limits, &parts, body, *response).await,
        Ruling::Admit(limit_headers) => forward(session, parts, body, hop, switch, limit_headers).await,
        Ruling::Hold(held) => match hold::wait(session, held).await {
            Waited::GoesOn(limit_headers) => forward(session, parts, body, hop, switch, limit_headers).await,
            Waited::Left => close(answer::left()),
            Waited::TurnedAway => {
                session.signal.linger();
                close(answer::draining())
            }
        },
    };
    if may_upgrade && !session.has_tunnel() {
        session.signal.release();
    }
    response
}

/// What the guard checks for HTTP/1, as far as HTTP/2 leaves it open.
fn check(request: &Request<Incoming>, limits: &ProxyLimits) -> Result<(), Rejection> {
    if request.headers().len() > FIELDS {
        return Err(Rejection::HeadTooLarge);
    }
    if request.uri().path_and_query().is_some_and(|target| target.as_str().len() > limits.target_bytes) {
        return Err(Rejection::TargetTooLong);
    }
    let mut hosts = request.headers().get_all(header::HOST).iter();
    match (request.uri().authority(), hosts.next()) {
        (None, None) => Err(Rejection::Malformed("both :authority and host are missing")),
        // user info is no part of an http authority (RFC 9110 §4.2.4)
        (Some(authority), _) if authority.as_str().contains('@') => {
            Err(Rejection::Malformed(":authority is not a host"))
        }
        (Some(authority), Some(host)) if !authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes()) => {
            Err(Rejection::Malformed("host is not :authority"))
        }
        _ if hosts.next().is_some() => Err(Rejection::Malformed("there are two host fields")),
        _ => Ok(()),
    }
}

/// A URL as target wins over Host, and replaces it (RFC 9112 §3.2.2), so that no application reads the other one.
fn set_host(parts: &mut Parts) {
    let Some(authority) = parts.uri.authority().filter(|_| parts.uri.scheme().is_some()) else { return };
    if let Ok(host) = HeaderValue::from_str(authority.as_str()) {
        parts.headers.insert(header::HOST, host);
    }
}

/// Answers in place of the application. The body is read and dropped within bounds, since a client that is still sending
/// may not look at the answer; past them the connection is given up.
async fn refuse(limits: &ProxyLimits, parts: &Parts, body: Incoming, response: Response<Bytes>) -> Response<ProxyBody> {
    // who asked before sending and is refused may send or not: the next bytes can't be told apart
    let keep = !expects(parts) && (body.is_end_stream() || discard(body, limits).await);
    let (mut head, bytes) = response.into_parts();
    let body = if parts.method == Method::HEAD || bytes.is_empty() {
        head.headers.entry(header::CONTENT_LENGTH).or_insert(HeaderValue::from(bytes.len()));
        ProxyBody::empty()
    } else {
        ProxyBody::Full(Some(bytes))
    };
    let response = Response::from_parts(head, body);
    if keep { response } else { close(response) }
}

/// True when the body came to its end.
async fn discard(mut body: Incoming, limits: &ProxyLimits) -> bool {
    let mut left = limits.discard_bytes;
    if body.size_hint().lower() > left {
        return false;
    }
    let all = async {
        loop {
            match body.frame().await {
                None => return true,
                Some(Err(_)) => return false,
                Some(Ok(frame)) => {
                    let length = frame.data_ref().map_or(0, Bytes::len) as u64;
                    let Some(less) = left.checked_sub(length) else { return false };
                    left = less;
                }
            }
        }
    };
    tokio::time::timeout(limits.discard_time, all).await.unwrap_or(false)
}

async fn forward<G: Gate>(
    session: &Session<G>,
    mut parts: Parts,
    body: Incoming,
    hop: Hop,
    switch: Option<OnUpgrade>,
    limit_headers: LimitHeaders,
) -> Response<ProxyBody> {
    let proxy = &session.proxy;
    let is_connect = parts.method == Method::CONNECT;
    let is_http1 = parts.version < Version::HTTP_2;
    let permit = if is_connect || hop.upgrade.is_some() {
        let Ok(permit) = Arc::clone(&proxy.tunnels).try_acquire_owned() else { return answer::no_tunnel() };
        session.upstream.may_become_tunnel();
        Some(permit)
    } else {
        None
    };
    set_forwarded_for(&mut parts.headers, &session.peer_value, proxy.limits.forwarded_for);
    hop::put_request(&mut parts.headers, &hop, parts.version);
    if !is_http1 {
        set_authority(&mut parts);
    }
    let (go, body) = if body.is_end_stream() {
        (None, RequestBody::Empty)
    } else if expects(&parts) {
        let (go, body) = Go::hold(body, proxy.limits.continue_time);
        (Some(go), body)
    } else {
        (None, RequestBody::Stream(body))
    };
    let mut request = Request::from_parts(parts, body);
    if let Some(go) = go.clone() {
        hyper::ext::on_informational(&mut request, move |response| {
            if response.status() == StatusCode::CONTINUE {
                go.on();
            }
        });
    }
    let sent = session.upstream.send(request).await;
    // an answer before the body was asked for leaves open whether the client sends it
    let unasked = go.is_some_and(|go| go.over());
    let answered = match sent {
        Ok(response) => response,
        Err(_) if session.signal.is_broken() => return close(answer::broken()),
        Err(error) => {
            session.upstream.stays_http();
            let answer = answer::upstream(error);
            return if error == UpstreamError::Reset { close(answer) } else { answer };
        }
    };
    let (mut head, body) = answered.into_parts();
    let of_application = hop::strip_response(&mut head.headers, head.version);
    if is_http1 {
        head.version = Version::HTTP_11;
    }
    limit_headers.apply(&mut head.headers);
    let switches = head.status == StatusCode::SWITCHING_PROTOCOLS;
    if switches || (is_connect && head.status.is_success()) {
        let offered = hop.upgrade.as_ref().is_some_and(|o| hop::was_offered(o, head.headers.get(header::UPGRADE)));
        let (Some(client), Some(permit), true) = (switch, permit, is_connect != offered) else {
            return close(answer::not_offered());
        };
        // what follows is no body, whatever the application says about its length (RFC 9110 §9.3.6)
        head.headers.remove(header::CONTENT_LENGTH);
        if offered {
            head.headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        }
        let mut answered = Response::from_parts(head, body);
        let application = hyper::upgrade::on(&mut answered);
        let counted = Counted::new(&proxy.metrics.tunnels);
        session.set_tunnel(Tunnel { client, application, counted, permit });
        return answered.map(|_| ProxyBody::empty());
    }
    if permit.is_some() {
        session.upstream.stays_http();
    }
    head.headers.remove(header::UPGRADE);
    let untold =
        is_http1 && head.status == StatusCode::NOT_MODIFIED && head.headers.contains_key(header::CONTENT_LENGTH);
    let response = Response::from_parts(head, if untold { ProxyBody::Untold } else { ProxyBody::Stream(body) });
    // a body that ends with the application's connection ends with the client's too
    let until_close = !of_application.delimited && !response.body().is_end_stream();
    if is_http1 && (of_application.close || until_close || unasked) { close(response) } else { response }
}

fn expects(parts: &Parts) -> bool {
    let expected = parts.headers.get(header::EXPECT);
    parts.version == Version::HTTP_11
        && expected.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// HTTP/2 needs an authority, which a client may have sent as `host` alone.
fn set_authority(parts: &mut Parts) {
    if parts.uri.authority().is_some() {
        return;
    }
    let Some(host) = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()) else { return };
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    if let Ok(uri) = http::Uri::builder().scheme("http").authority(host).path_and_query(path).build() {
        parts.uri = uri;
    }
}

fn set_forwarded_for(headers: &mut HeaderMap, peer: &HeaderValue, forwarded_for: ForwardedFor) {
    if forwarded_for == ForwardedFor::Append && headers.contains_key(X_FORWARDED_FOR) {
        // one line: who reads only one of several would read one that the client wrote
        let mut hops: Vec<&[u8]> = headers.get_all(X_FORWARDED_FOR).iter().map(HeaderValue::as_bytes).collect();
        hops.push(peer.as_bytes());
        if let Ok(joined) = HeaderValue::from_bytes(&hops.join(&b", "[..])) {
            headers.insert(X_FORWARDED_FOR, joined);
        }
    } else {
        headers.entry(X_FORWARDED_FOR).or_insert_with(|| peer.clone());
    }
}

/// The last answer of its connection (HTTP/1).
fn close(mut response: Response<ProxyBody>) -> Response<ProxyBody> {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}
