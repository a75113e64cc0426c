//! The meaning of how requests are held back.

use std::time::Duration;

use weir_limiter::{Limit, Slowdown};

use super::length_of_time;
use super::node::Node;
use crate::fault::Collector;
use crate::spec::{Algorithm, text};

/// How requests wait for their turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub(super) max_wait: Duration,
    pub(super) max_waiting: u32,
}

/// Compiles `queue` of a limit, if it has one; `None` where something is wrong with it.
pub(super) fn queue(limit: &Node<'_>, faults: &mut Collector) -> Option<Option<Queue>> {
    let Some(node) = limit.child("queue") else { return Some(None) };
    let algorithm: Option<Algorithm> = limit.read("algorithm");
    let fits = algorithm.is_none_or(|algorithm| algorithm == Algorithm::LeakyBucket);
    if !fits {
        faults.add(node.path(), text::QUEUE_ALGORITHM);
    }
    let bounds = Duration::from_millis(1)..=Limit::MAX_WAIT;
    let max_wait = length_of_time::compile(&node, "maxWait", bounds, text::WAIT_BOUNDS, faults);
    let max_waiting = match node.child("maxWaiting") {
        Some(number) => u32::try_from(number.value::<i64>()?).ok()?,
        None => 1000,
    };
    let queue = Queue { max_wait: max_wait?, max_waiting };
    fits.then_some(Some(queue))
}

/// Compiles `slowdown` of a limit, if it has one; `None` where something is wrong with it.
pub(super) fn slowdown(limit: &Node<'_>, faults: &mut Collector) -> Option<Option<Slowdown>> {
    let Some(node) = limit.child("slowdown") else { return Some(None) };
    let fits = limit.child("queue").is_none();
    if !fits {
        faults.add(node.path(), text::SLOWDOWN_QUEUE);
    }
    let bounds = Slowdown::LEAST_MAX_DELAY..=Slowdown::MOST_MAX_DELAY;
    let max_delay = length_of_time::compile(&node, "maxDelay", bounds, text::WAIT_BOUNDS, faults);
    let from_percent = u8::try_from(node.read::<i64>("fromPercent")?).ok()?;
    let slowdown = Slowdown::new(from_percent, max_delay?).map_err(|e| faults.add(node.path(), e.to_string())).ok()?;
    fits.then_some(Some(slowdown))
}
