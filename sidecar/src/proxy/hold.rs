//! An admitted request that waits for its time.
use super::gate::{Gate, Held, LimitHeaders};
use super::session::Session;
use crate::drain::Phase;
use std::time::Instant;

/// How a wait ended.
#[derive(Debug)]
pub(crate) enum Waited {
    /// It is time.
    GoesOn(LimitHeaders),
    /// The client did not wait for it.
    Left,
    /// It would be time when this process has ended.
    TurnedAway,
}

/// Waits; whoever drops this gives up the request, as a client that leaves does.
pub(crate) async fn wait<G: Gate>(session: &Session<G>, held: Held) -> Waited {
    let until = held.until();
    tokio::select! {
        // a client that left a moment ago is not served any more
        biased;
        () = session.client_gone() => Waited::Left,
        () = turned_away(session, until) => {
            held.turned_away();
            Waited::TurnedAway
        }
        () = tokio::time::sleep_until(until.into()) => Waited::GoesOn(held.goes_on()),
    }
}

/// When it is clear that this process ends before `until`.
async fn turned_away<G: Gate>(session: &Session<G>, until: Instant) {
    let (drain, grace) = (&session.proxy.drain, session.proxy.limits.stop_time);
    drain.reached(Phase::Draining).await;
    match drain.leaving_since() {
        Some(since) if since + grace < until => {}
        _ => std::future::pending().await,
    }
}
