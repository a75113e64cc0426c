//! The meaning of one limit.

use std::time::Duration;

use weir_limiter::{InvalidLimit, Limit, Quota};

use super::node::Node;
use super::{cost, header_name, request_match};
use crate::address::Prefixes;
use crate::cost::Cost;
use crate::fault::Collector;
use crate::key::Key;
use crate::policy::PolicyLimit;
use crate::request_match::CompiledMatch;
use crate::spec::{Algorithm, ClientAddressKey, text};
use crate::{duration, local_file};

/// Compiles a limit; `None` where something is wrong with it.
pub(super) fn compile(node: &Node<'_>, faults: &mut Collector) -> Option<PolicyLimit> {
    let name = name(node, faults);
    let matches = node.child("match").map_or(Some(CompiledMatch::default()), |m| request_match::compile(&m, faults));
    let keys: Vec<Option<Key>> = node
        .child("keys")
        .map(|list| list.items())
        .unwrap_or_default()
        .iter()
        .map(|source| key(source, faults))
        .collect();
    let limit = limit(node, faults);
    let cost = node.child("cost").map_or(Some(Cost::Fixed(1)), |c| cost::compile(&c, limit.as_ref(), faults));
    let on_missing_key = node.read("onMissingKey").unwrap_or_default();
    let enforcement = node.read("enforcement").unwrap_or_default();
    let keys = keys.into_iter().collect::<Option<_>>()?;
    let (name, limit, cost, matches) = (name?, limit?, cost?, matches?);
    Some(PolicyLimit { name, limit, cost, enforcement, matches, keys, on_missing_key })
}

fn name(node: &Node<'_>, faults: &mut Collector) -> Option<String> {
    let name: String = node.read("name")?;
    if local_file::is_dns_label(&name) {
        return Some(name);
    }
    faults.add(node.at("name"), text::LIMIT_NAME);
    None
}

fn limit(node: &Node<'_>, faults: &mut Collector) -> Option<Limit> {
    let algorithm: Option<Algorithm> = node.read("algorithm");
    let is_bucket = |algorithm| matches!(algorithm, Algorithm::TokenBucket | Algorithm::LeakyBucket);
    if algorithm.is_some_and(|algorithm| !is_bucket(algorithm)) && node.child("burst").is_some() {
        faults.add(node.at("burst"), text::BURST_ALGORITHM);
    }
    let rate = node.child("rate")?;
    let period = period(&rate, faults);
    let requests = u64::try_from(rate.read::<i64>("requests")?).ok()?;
    let quota = Quota::new(requests, period?).map_err(|e| faults.add(rate.path(), e.to_string())).ok()?;
    let bucket = |make: fn(Quota, u64) -> Result<Limit, InvalidLimit>, faults: &mut Collector| {
        let burst = match node.child("burst") {
            Some(burst) => u64::try_from(burst.value::<i64>()?).ok()?,
            None => requests.max(1),
        };
        make(quota, burst).map_err(|e| faults.add(node.at("burst"), e.to_string())).ok()
    };
    match algorithm? {
        Algorithm::FixedWindow => Some(Limit::fixed_window(quota)),
        Algorithm::SlidingWindow => Some(Limit::sliding_window(quota)),
        Algorithm::SlidingLog => Limit::sliding_log(quota)
            .map_err(|_| faults.add(rate.at("requests"), format!("{}; is {requests}", text::LOG_REQUESTS)))
            .ok(),
        Algorithm::TokenBucket => bucket(Limit::token_bucket, faults),
        Algorithm::LeakyBucket => bucket(Limit::leaky_bucket, faults),
    }
}

fn period(rate: &Node<'_>, faults: &mut Collector) -> Option<Duration> {
    let text: String = rate.read("period")?;
    match duration::parse(&text) {
        Some(period) if (Quota::MIN_PERIOD..=Quota::MAX_PERIOD).contains(&period) => return Some(period),
        Some(_) => faults.add(rate.at("period"), format!("{}, is {text}", text::PERIOD_BOUNDS)),
        None => faults.add(rate.at("period"), format!("{}; is {text:?}", text::PERIOD_FORM)),
    }
    None
}

fn key(node: &Node<'_>, faults: &mut Collector) -> Option<Key> {
    match (node.child("header"), node.child("clientAddress")) {
        (Some(header), None) => header_name::compile(&header, faults).map(Key::Header),
        (None, Some(address)) => {
            let key: ClientAddressKey = address.value()?;
            let (ipv4, ipv6) = (u8::try_from(key.ipv4_prefix_length).ok()?, u8::try_from(key.ipv6_prefix_length).ok()?);
            Some(Key::ClientAddress(Prefixes { ipv4, ipv6 }))
        }
        // a field of another name has been named; which key was meant is then anyone's guess
        _ if !node.is_sound() => None,
        _ => {
            faults.add(node.path(), text::ONE_KEY_SOURCE);
            None
        }
    }
}
