//! Asks several addresses again and again until each answers with a certain response header: how a person measures when
//! an edited limit is in force on every pod.
use crate::load::{Connection, Load, exchange};
use hyper::{HeaderMap, Method, Uri};
use std::time::{Duration, Instant};

/// What to wait for.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Each must show it; all are asked side by side.
    pub urls: Vec<Uri>,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Name of the response header.
    pub name: String,
    /// Its awaited value; `None` waits for a response without it.
    pub value: Option<String>,
    /// Give up after this.
    pub at_most: Duration,
}

/// How long it took until the last of them showed it.
///
/// # Errors
/// When one didn't in time, or when a request failed on the way: an edited limit must not cost a request.
pub async fn until_all(watch: Watch) -> Result<Duration, String> {
    let started = Instant::now();
    let watchers: Vec<_> =
        watch.urls.iter().map(|url| tokio::spawn(until(url.clone(), watch.clone(), started))).collect();
    for watcher in watchers {
        watcher.await.map_err(|e| e.to_string())??;
    }
    Ok(started.elapsed())
}

async fn until(url: Uri, watch: Watch, started: Instant) -> Result<(), String> {
    let load = Load {
        url: url.clone(),
        method: Method::GET,
        headers: watch.headers.clone(),
        requests: 1,
        connections: 1,
        pause: Duration::ZERO,
        at_most: watch.at_most,
    };
    let mut connection: Connection = None;
    let mut last = None;
    while started.elapsed() < watch.at_most {
        let (status, headers, _) = exchange(&load, &mut connection).await.map_err(|e| format!("{url}: {e}"))?;
        if status.is_server_error() {
            return Err(format!("{url}: answered {status}"));
        }
        last = headers.get(&watch.name).map(|v| String::from_utf8_lossy(v.as_bytes()).into_owned());
        if last == watch.value {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    Err(format!("{url}: {} is {last:?} and not {:?} after {:?}", watch.name, watch.value, watch.at_most))
}
