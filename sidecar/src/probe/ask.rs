//! One question to the application, asked as the kubelet asks it.
use super::Question;
use bytes::Bytes;
use http::header::{ACCEPT, CONNECTION, HOST, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpStream;

/// What the kubelet reads of a body before it lets go.
const BODY_READ: usize = 10 << 10;
/// How many redirects it follows.
const REDIRECTS: usize = 10;

/// The application's verdict; 502 when it can't be reached. The caller bounds the time.
pub(super) async fn ask(question: &Question, ip: IpAddr) -> StatusCode {
    let verdict = match question {
        Question::Tcp { port } => TcpStream::connect((ip, *port)).await.map(|_| StatusCode::OK).map_err(|_| ()),
        Question::Http { port, target, headers } => follow(SocketAddr::new(ip, *port), target, headers).await,
    };
    verdict.unwrap_or(StatusCode::BAD_GATEWAY)
}

/// As the kubelet: a redirect on the same host is followed, one to elsewhere counts as it stands.
async fn follow(address: SocketAddr, target: &Uri, headers: &HeaderMap) -> Result<StatusCode, ()> {
    let (mut address, mut target) = (address, target.clone());
    for _ in 0..REDIRECTS {
        let response = get(address, &target, headers).await?;
        let next = response.headers().get(LOCATION).filter(|_| response.status().is_redirection());
        match next.and_then(|location| same_host(location, address, &target)) {
            Some(next) => (address, target) = next,
            None => return Ok(response.status()),
        }
    }
    Err(())
}

async fn get(address: SocketAddr, target: &Uri, headers: &HeaderMap) -> Result<Response<()>, ()> {
    let stream = TcpStream::connect(address).await.map_err(drop)?;
    let (mut sender, connection) = hyper::client::conn::http1::Builder::new()
        .title_case_headers(true)
        .handshake::<_, Empty<Bytes>>(TokioIo::new(stream))
        .await
        .map_err(drop)?;
    let request = request(address, target, headers)?;
    let exchange = async {
        let response: Response<Incoming> = sender.send_request(request).await.map_err(drop)?;
        let (parts, body) = response.into_parts();
        // read on, so that an application doesn't see its health check broken off; what comes is of no interest
        let _ = Limited::new(body, BODY_READ).collect().await;
        Ok(Response::from_parts(parts, ()))
    };
    tokio::pin!(exchange);
    tokio::select! {
        response = &mut exchange => response,
        // ends first when the application closes right after its answer
        _ = connection => exchange.await,
    }
}

/// The original headers, `Host` exactly once, and what the kubelet adds when the template doesn't name them.
fn request(address: SocketAddr, target: &Uri, headers: &HeaderMap) -> Result<Request<Empty<Bytes>>, ()> {
    let mut request = Request::get(target.clone()).body(Empty::new()).map_err(drop)?;
    let host = match headers.get(HOST) {
        Some(host) => host.clone(),
        None => HeaderValue::from_str(&address.to_string()).map_err(drop)?,
    };
    let all = request.headers_mut();
    all.insert(HOST, host);
    all.insert(CONNECTION, HeaderValue::from_static("close"));
    for (name, value) in headers.iter().filter(|(name, _)| *name != HOST && *name != CONNECTION) {
        all.append(name, value.clone());
    }
    for (name, value) in [(USER_AGENT, "kube-probe/weir"), (ACCEPT, "*/*")] {
        // an empty value in the template means: leave it out
        match all.get(&name) {
            None => drop(all.insert(name, HeaderValue::from_static(value))),
            Some(given) if given.is_empty() => drop(all.remove(&name)),
            Some(_) => {}
        }
    }
    Ok(request)
}

/// Where a redirect leads, unless to another host or out of plain HTTP.
fn same_host(location: &HeaderValue, address: SocketAddr, from: &Uri) -> Option<(SocketAddr, Uri)> {
    let location = location.to_str().ok()?;
    let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
    let to: Uri = match location {
        absolute if absolute.contains("://") => absolute.parse().ok()?,
        path if path.starts_with('/') && !path.starts_with("//") => path.parse().ok()?,
        relative => format!("{folder}/{relative}").parse().ok()?,
    };
    let path = to.path_and_query().map_or("/", |path| path.as_str()).parse().ok()?;
    let Some(host) = to.host() else { return Some((address, path)) };
    let host: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
    let plain = to.scheme_str() == Some("http") && host == address.ip();
    plain.then(|| (SocketAddr::new(host, to.port_u16().unwrap_or(80)), path))
}
