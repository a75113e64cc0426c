//! The hand-worked histories, read.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use weir_limiter::{Check, Limit, Quota, Verdict};

pub(crate) const FILES: [(&str, &str); 9] = [
    ("fixed_window", include_str!("fixed_window.yaml")),
    ("sliding_log", include_str!("sliding_log.yaml")),
    ("sliding_window", include_str!("sliding_window.yaml")),
    ("token_bucket", include_str!("token_bucket.yaml")),
    ("leaky_bucket", include_str!("leaky_bucket.yaml")),
    ("queue", include_str!("queue.yaml")),
    ("groups", include_str!("groups.yaml")),
    ("refunds", include_str!("refunds.yaml")),
    ("coalesced", include_str!("coalesced.yaml")),
];

#[derive(Deserialize)]
struct History {
    name: String,
    limits: BTreeMap<String, String>,
    steps: Vec<Vec<Value>>,
}

pub(crate) struct Step {
    /// µs since the epoch.
    pub(crate) at: u64,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// A request, and what it is told each time that it is asked, one after another.
    Request(Vec<Check<String>>, Vec<Vec<Told>>),
    /// All that the step of this place charged is given back, last first; whether anything is.
    Refund(usize, bool),
}

/// Verdict, remaining, reset, delay.
pub(crate) type Told = (Verdict, u64, Duration, Duration);

pub(crate) fn histories() -> Vec<(String, Vec<Step>)> {
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
    let at = at.as_u64().expect("µs");
    if let [Value::String(word), of, given_back] = rest
        && word == "refund"
    {
        let of = of.as_u64().expect("a step's number") as usize;
        return Step { at, what: What::Refund(of - 1, given_back.as_bool().expect("true or false")) };
    }
    let together = rest.first().is_some_and(|word| word == "together");
    let rest = &rest[usize::from(together)..];
    let rows: Vec<&[Value]> = match rest {
        [Value::Array(_), ..] => rest.iter().map(|row| row.as_array().expect("a list").as_slice()).collect(),
        _ => vec![rest],
    };
    let (mut checks, mut expected) = (vec![], vec![]);
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
        checks.push(Check { key, limit, cost: cost.as_u64().expect("a cost") });
        let verdict = match verdict.as_str().expect("a verdict").split_once(' ') {
            Some(("wait", micros)) => Verdict::Wait(Duration::from_micros(micros.parse().expect("µs"))),
            None if verdict == "pass" => Verdict::Pass,
            None if verdict == "never" => Verdict::Never,
            _ => panic!("{verdict} is not a verdict"),
        };
        let [reset, delay] = [reset.as_u64(), delay].map(|micros| Duration::from_micros(micros.expect("µs")));
        expected.push((verdict, remaining.as_u64().expect("units"), reset, delay));
    }
    if together {
        assert!(checks.iter().all(|check| *check == checks[0]), "not all ask the same: {checks:?}");
        checks.truncate(1);
        return Step { at, what: What::Request(checks, expected.into_iter().map(|told| vec![told]).collect()) };
    }
    Step { at, what: What::Request(checks, vec![expected]) }
}
