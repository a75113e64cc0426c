//! Hand-worked histories, held against the model and the script alike. Times are µs after the epoch.
//!
//! `limits` names them: "FixedWindow 3 per 10000", "TokenBucket 2 per 10000 burst 3" or "LeakyBucket 2 per 10000 wait
//! 10000", a queue, each on a key of its own name; "… on other" puts it on the key `other`, which is how a limit is edited.
//! A step is [at, limit, cost, verdict, remaining, reset], then the delay where there is one, or for several checks in one
//! request [at, [limit, cost, verdict, remaining, reset], …].

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use weir_limiter::{Batch, Check, Decision, Limit, Quota, State, Timestamp, Verdict, decide_shared};

use crate::server::RedisServer;

const FILES: [(&str, &str); 7] = [
    ("fixed_window", include_str!("vectors/fixed_window.yaml")),
    ("sliding_log", include_str!("vectors/sliding_log.yaml")),
    ("sliding_window", include_str!("vectors/sliding_window.yaml")),
    ("token_bucket", include_str!("vectors/token_bucket.yaml")),
    ("leaky_bucket", include_str!("vectors/leaky_bucket.yaml")),
    ("queue", include_str!("vectors/queue.yaml")),
    ("groups", include_str!("vectors/groups.yaml")),
];

#[derive(Deserialize)]
struct History {
    name: String,
    limits: BTreeMap<String, String>,
    steps: Vec<Vec<Value>>,
}

struct Step {
    at: u64,
    checks: Vec<Check<String>>,
    expected: Vec<Told>,
}

/// Verdict, remaining, reset, delay.
type Told = (Verdict, u64, Duration, Duration);

fn told(decision: &Decision) -> Vec<Told> {
    decision.outcomes.iter().map(|told| (told.verdict, told.remaining, told.reset, told.delay)).collect()
}

fn histories() -> Vec<(String, Vec<Step>)> {
    let mut all = Vec::new();
    for (file, text) in FILES {
        let value: Value = serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        for history in serde_json::from_value::<Vec<History>>(value).expect(file) {
            let limits = history.limits.iter().map(|(name, text)| (name.as_str(), limit(name, text))).collect();
            let steps = history.steps.iter().map(|row| step(row, &limits)).collect();
            all.push((format!("{file}: {}", history.name), steps));
        }
    }
    all
}

fn limit(name: &str, text: &str) -> (String, Limit) {
    let words: Vec<&str> = text.split(' ').collect();
    let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("{text}: {word} is not a number"));
    let quota = |n: &str, p: &str| Quota::new(number(n), Duration::from_micros(number(p))).expect(text);
    let (limit, rest) = match words.as_slice() {
        ["FixedWindow", n, "per", p, rest @ ..] => (Limit::fixed_window(quota(n, p)), rest),
        ["SlidingLog", n, "per", p, rest @ ..] => (Limit::sliding_log(quota(n, p)).expect(text), rest),
        ["SlidingWindow", n, "per", p, rest @ ..] => (Limit::sliding_window(quota(n, p)), rest),
        ["TokenBucket", n, "per", p, "burst", b, rest @ ..] => {
            (Limit::token_bucket(quota(n, p), number(b)).expect(text), rest)
        }
        ["LeakyBucket", n, "per", p, "burst", b, "wait", w, rest @ ..] => {
            (Limit::leaky_queue(quota(n, p), Some(number(b)), Duration::from_micros(number(w))).expect(text), rest)
        }
        ["LeakyBucket", n, "per", p, "wait", w, rest @ ..] => {
            (Limit::leaky_queue(quota(n, p), None, Duration::from_micros(number(w))).expect(text), rest)
        }
        ["LeakyBucket", n, "per", p, "burst", b, rest @ ..] => {
            (Limit::leaky_bucket(quota(n, p), number(b)).expect(text), rest)
        }
        _ => panic!("{text} is not a limit"),
    };
    match rest {
        [] => (name.to_owned(), limit),
        ["on", key] => ((*key).to_owned(), limit),
        _ => panic!("{text}: {rest:?} is too much"),
    }
}

fn step(row: &[Value], limits: &BTreeMap<&str, (String, Limit)>) -> Step {
    let (at, rest) = row.split_first().expect("a step has a time");
    let rows: Vec<&[Value]> = match rest {
        [Value::Array(_), ..] => rest.iter().map(|row| row.as_array().expect("a list").as_slice()).collect(),
        _ => vec![rest],
    };
    let mut step = Step { at: at.as_u64().expect("µs"), checks: vec![], expected: vec![] };
    for row in rows {
        let (row, delay) = if let [row @ .., delay] = row
            && row.len() == 5
        {
            (row, delay.as_u64())
        } else {
            (row, Some(0))
        };
        let [name, cost, verdict, remaining, reset] = row else { panic!("{row:?} is not a check") };
        let (key, limit) = limits[name.as_str().expect("a limit's name")].clone();
        step.checks.push(Check { key, limit, cost: cost.as_u64().expect("a cost") });
        let verdict = match verdict.as_str().expect("a verdict").split_once(' ') {
            Some(("wait", micros)) => Verdict::Wait(Duration::from_micros(micros.parse().expect("µs"))),
            None if verdict == "pass" => Verdict::Pass,
            None if verdict == "never" => Verdict::Never,
            _ => panic!("{verdict} is not a verdict"),
        };
        let [reset, delay] = [reset.as_u64(), delay].map(|micros| Duration::from_micros(micros.expect("µs")));
        step.expected.push((verdict, remaining.as_u64().expect("units"), reset, delay));
    }
    step
}

#[test]
fn the_model_follows_every_hand_worked_history() {
    for (name, steps) in histories() {
        let mut states: BTreeMap<String, Option<State>> = BTreeMap::new();
        for (number, step) in steps.iter().enumerate() {
            let mut keys: Vec<&String> = step.checks.iter().map(|check| &check.key).collect();
            keys.sort();
            keys.dedup();
            let mut held: Vec<_> = keys.iter().map(|key| states.get(*key).cloned().flatten()).collect();
            let slots: Vec<_> = step.checks.iter().map(|check| keys.binary_search(&&check.key).expect("it")).collect();
            let checks: Vec<_> = step.checks.iter().map(|check| (check.limit, check.cost)).collect();
            let decision = decide_shared(Timestamp::from_micros(step.at), &checks, &slots, &mut held);
            assert_eq!(told(&decision), step.expected, "{name}, step {}", number + 1);
            let passed = step.expected.iter().all(|told| told.0 == Verdict::Pass);
            assert_eq!(decision.admitted, passed, "{name}, step {}", number + 1);
            for (key, state) in keys.into_iter().zip(held) {
                states.insert(key.clone(), state);
            }
        }
    }
}

#[test]
fn the_script_follows_every_hand_worked_history() {
    let server = RedisServer::start();
    let mut client = server.connect();
    for (number_of_history, (name, steps)) in histories().into_iter().enumerate() {
        for (number, step) in steps.into_iter().enumerate() {
            let named = |check: Check<String>| Check { key: format!("{number_of_history}:{}", check.key), ..check };
            let mut batch = Batch::new();
            batch.push(&step.checks.into_iter().map(named).collect::<Vec<_>>());
            let decisions = client.decide_at(step.at, &batch);
            assert_eq!(told(&decisions[0]), step.expected, "{name}, step {}", number + 1);
        }
    }
}

#[test]
fn every_variant_has_ten_histories_or_more() {
    for (variant, _) in FILES.iter().filter(|(file, _)| *file != "groups") {
        let count = histories().iter().filter(|(name, _)| name.starts_with(*variant)).count();
        assert!(count >= 10, "{variant} has {count}");
    }
}
