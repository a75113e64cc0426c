//! Two layouts of state, one against the other: a string for each key, which is the one in use, and fields of two hashes
//! for each limit. Speed and memory with 1,000,000 keys, the longest stall when many states end, and what a full server
//! loses. Prints, and gates nothing but that both decide the same.
//!
//! `cargo bench -p weir-limiter --bench layout` takes some minutes and 600 MB; after `--` come the names of parts, if not all
//! are wanted: same, speed, logs, stalls, evictions.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot go on ends")]

use std::time::Duration;

use weir_limiter::{Batch, Check, Limit, Quota};

mod ends;
#[path = "../figure.rs"]
mod figure;
#[path = "../../tests/histories.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod histories;
mod layout;
mod same;
#[path = "../../tests/server.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod server;

use figure::{cpu_seconds, load, told, used_memory};
use layout::{DIGEST, Layout};
use server::{Client, RedisServer};

const KEYS: usize = 1_000_000;
const ROUNDS: usize = 5;
const DECISIONS: usize = 50_000;
const LOGS: usize = 10_000;
/// Of distinct keys, while a server is filled.
const FILL: usize = 1_000;

/// A server under one of the layouts.
pub(crate) struct Subject {
    pub(crate) layout: Layout,
    pub(crate) server: RedisServer,
    pub(crate) client: Client,
    digest: String,
}

impl Subject {
    pub(crate) fn start(layout: Layout) -> Self {
        let server = RedisServer::start();
        let mut client = server.connect();
        let digest = load(&mut client, &layout.script());
        Self { layout, server, client, digest }
    }

    pub(crate) fn config(&mut self, name: &str, value: &str) {
        redis::cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut self.client.connection).expect("CONFIG SET");
    }

    pub(crate) fn call(&self, batch: &Batch) -> redis::Cmd {
        self.layout.command(&self.digest, batch, None)
    }

    /// Charges so many keys.
    pub(crate) fn fill(&mut self, limit: Limit, cost: u64, keys: usize) {
        for first in (0..keys).step_by(FILL) {
            let call = self.call(&batch(limit, cost, first..keys.min(first + FILL)));
            call.exec(&mut self.client.connection).expect("the script never fails");
        }
    }
}

/// A request for each of these keys.
pub(crate) fn batch(limit: Limit, cost: u64, keys: impl Iterator<Item = usize>) -> Batch {
    let mut batch = Batch::new();
    keys.for_each(|key| batch.push(&[Check { key: name(limit, key), limit, cost }]));
    batch
}

/// As a sidecar names it, in a namespace of 8 characters, but for a letter of the limit in the digest.
fn name(limit: Limit, key: usize) -> String {
    let letter = limit.algorithm().name().as_bytes()[0].to_ascii_lowercase() as char;
    // as far apart as digests are
    let digest = (key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("weir:{{shopping}}:{letter}{digest:0DIGEST$x}")
}

/// Limits of which nothing ends while they are measured, and nothing is refused.
fn limits() -> Vec<Limit> {
    let quota = Quota::new(1_000, Quota::MAX_PERIOD).expect("in range");
    vec![Limit::token_bucket(quota, 1_000).expect("in range"), Limit::fixed_window(quota), Limit::sliding_window(quota)]
}

fn speed_and_memory() {
    println!("thousand decisions per CPU second of Redis, of 1,000,000 keys: median (lowest to highest) of {ROUNDS}");
    for limit in limits() {
        let mut subjects = Layout::ALL.map(Subject::start);
        for subject in &mut subjects {
            let before = used_memory(&mut subject.client);
            subject.fill(limit, 1, KEYS);
            let bytes = (used_memory(&mut subject.client) - before) / KEYS as f64;
            println!("{:14} {:8} {bytes:.0} bytes a key", limit.algorithm().name(), subject.layout.name());
        }
        for batch in [1, 8, 64, 256] {
            let calls = subjects.each_ref().map(|subject| calls(subject, limit, batch));
            let mut figures = [vec![], vec![]];
            for _ in 0..ROUNDS {
                for ((subject, calls), figures) in subjects.iter_mut().zip(&calls).zip(&mut figures) {
                    let cpu = cpu_seconds(subject.server.pid());
                    for call in calls {
                        call.query::<()>(&mut subject.client.connection).expect("the script never fails");
                    }
                    figures.push(DECISIONS as f64 / 1000.0 / (cpu_seconds(subject.server.pid()) - cpu));
                }
            }
            for (subject, figures) in subjects.iter().zip(figures) {
                let (algorithm, layout) = (limit.algorithm().name(), subject.layout.name());
                println!("{algorithm:14} {layout:8} batch {batch:3} {}", told(figures));
            }
        }
    }
}

/// Calls for keys in a scattered order; those of one key are pipelined 64 deep.
fn calls(subject: &Subject, limit: Limit, batch: usize) -> Vec<redis::Pipeline> {
    let depth = if batch == 1 { 64 } else { 1 };
    let mut next = 0;
    let mut scattered = move || {
        next = (next + 607_919) % KEYS;
        next
    };
    let pipelines = (0..DECISIONS.div_ceil(batch * depth)).map(|_| {
        let mut pipeline = redis::pipe();
        for _ in 0..depth {
            let keys: Vec<_> = std::iter::repeat_with(&mut scattered).take(batch).collect();
            pipeline.add_command(subject.call(&self::batch(limit, 1, keys.into_iter()))).ignore();
        }
        pipeline
    });
    pipelines.collect()
}

/// A log is one string in both layouts; a leaky bucket and a queue are held as a token bucket is.
fn log_memory() {
    let quota = |requests| Quota::new(requests, Duration::from_secs(24 * 3600)).expect("in range");
    let limit = Limit::sliding_log(quota(1_000)).expect("in range");
    for (charges, cost) in [(1, 1), (10, 1), (10, 10), (20, 50)] {
        let mut subject = Subject::start(Layout::Strings);
        let before = used_memory(&mut subject.client);
        for _ in 0..charges {
            subject.fill(limit, cost, LOGS);
        }
        let (bytes, units) = ((used_memory(&mut subject.client) - before) / LOGS as f64, charges * cost);
        println!("SlidingLog, {units} units of 1,000: {bytes:.0} bytes a key, {:.2} a unit", bytes / units as f64);
    }
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    let parts: [(&str, fn()); 5] = [
        ("same", same::both_layouts_decide_the_same),
        ("speed", speed_and_memory),
        ("logs", log_memory),
        ("stalls", ends::stalls),
        ("evictions", ends::evictions),
    ];
    for (_, part) in parts.iter().filter(|(name, _)| asked.is_empty() || asked.iter().any(|asked| asked == name)) {
        part();
    }
}
