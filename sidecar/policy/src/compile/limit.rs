//! The meaning of one limit.

use weir_limiter::{InvalidLimit, Limit, Quota};

use super::node::Node;
use super::waiting::{self, Queue};
use super::{cost, key, length_of_time, request_match, tier};
use crate::cost::Cost;
use crate::fault::Collector;
use crate::key::Key;
use crate::local_file;
use crate::policy::PolicyLimit;
use crate::request_match::CompiledMatch;
use crate::spec::{Algorithm, text};

/// Compiles a limit; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<PolicyLimit> {
    let name = name(node, faults);
    let matches = node.child("match").map_or(Some(CompiledMatch::default()), |m| request_match::compile(&m, faults));
    let keys: Vec<Option<Key>> = node
        .child("keys")
        .map(|list| list.items())
        .unwrap_or_default()
        .iter()
        .map(|source| key::compile(source, faults))
        .collect();
    let queue = waiting::queue(node, faults);
    let slowdown = waiting::slowdown(node, faults);
    let rules = Rules { algorithm: node.read("algorithm"), queue };
    let limit = quota(node, rules, faults);
    let tiers = tier::compile(node, rules, faults);
    // where the queue is wrong, what would be right may hold more
    let known = limit.as_ref().filter(|_| queue.is_some() || node.child("burst").is_some());
    let cost = node.child("cost").map_or(Some(Cost::Fixed(1)), |c| cost::compile(&c, known, faults));
    if let (Some(tiers), Some(cost)) = (&tiers, &cost) {
        tier::can_pass(node, tiers, cost, faults);
    }
    let on_missing_key = node.read("onMissingKey").unwrap_or_default();
    let enforcement = node.read("enforcement").unwrap_or_default();
    let keys = keys.into_iter().collect::<Option<_>>()?;
    let max_waiting = queue?.map(|queue| queue.max_waiting);
    let (name, limit, cost, slowdown, matches) = (name?, limit?, cost?, slowdown?, matches?);
    let tiers = tiers?;
    Some(PolicyLimit { name, limit, tiers, cost, slowdown, max_waiting, enforcement, matches, keys, on_missing_key })
}

/// A name of a limit, or of a tier.
pub(super) fn name(node: &Node<'_>, faults: &mut Collector) -> Option<String> {
    let name: String = node.read("name")?;
    if local_file::is_dns_label(&name) {
        return Some(name);
    }
    faults.add(node.at("name"), text::LIMIT_NAME);
    None
}

/// What a limit and its tiers have in common.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    algorithm: Option<Algorithm>,
    /// None where it can't be read; holds none where the limit has none.
    queue: Option<Option<Queue>>,
}

/// Algorithm, quota and capacity, from the `rate` and `burst` of a limit or of a tier.
pub(super) fn quota(node: &Node<'_>, rules: Rules, faults: &mut Collector) -> Option<Limit> {
    let Rules { algorithm, queue } = rules;
    let is_bucket = |algorithm| matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket);
    if algorithm.is_some_and(|algorithm| !is_bucket(algorithm)) && node.child("burst").is_some() {
        faults.add(node.at("burst"), text::BURST_ALGORITHM);
    }
    let rate = node.child("rate")?;
    let bounds = Quota::MIN_PERIOD..=Quota::MAX_PERIOD;
    let period = length_of_time::compile(&rate, "period", bounds, text::PERIOD_BOUNDS, faults);
    let requests = u64::try_from(rate.read::<i64>("requests")?).ok()?;
    let quota = Quota::new(requests, period?).map_err(|e| faults.add(rate.path(), e.to_string())).ok()?;
    let bucket = |make: &dyn Fn(Option<u64>) -> Result<Limit, InvalidLimit>, faults: &mut Collector| {
        let burst = match node.child("burst") {
            Some(burst) => Some(u64::try_from(burst.value::<i64>()?).ok()?),
            None => None,
        };
        make(burst).map_err(|e| faults.add(node.at("burst"), e.to_string())).ok()
    };
    let or_requests = |burst: Option<u64>| burst.unwrap_or(requests.max(1));
    match (algorithm?, queue) {
        (Algorithm::FixedWindow, _) => Some(Limit::fixed_window(quota)),
        (Algorithm::SlidingWindow, _) => Some(Limit::sliding_window(quota)),
        (Algorithm::SlidingLog, _) => Limit::sliding_log(quota)
            .map_err(|_| faults.add(rate.at("requests"), format!("{}; is {requests}", text::LOG_REQUESTS)))
            .ok(),
        (Algorithm::TokenBucket, _) => bucket(&|burst| Limit::token_bucket(quota, or_requests(burst)), faults),
        (Algorithm::LeakyBucket, Some(Some(queue))) => {
            bucket(&|burst| Limit::leaky_queue(quota, burst, queue.max_wait), faults)
        }
        // what a queue holds that can't be read is known only where it is said
        (Algorithm::LeakyBucket, None) if node.child("burst").is_none() => None,
        (Algorithm::LeakyBucket, _) => bucket(&|burst| Limit::leaky_bucket(quota, or_requests(burst)), faults),
    }
}
