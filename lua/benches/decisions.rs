//! How many decisions a CPU second of Redis makes, and how long the model and the packing take. Prints, gates nothing.
//!
//! `cargo bench -p weir-limiter` starts a redis-server of its own and asks for distinct keys out of 20,000, in calls of 1,
//! 64 and 256 requests; calls of 1 are pipelined 64 deep. The CPU time is the server process's own, from
//! `/proc/<pid>/stat`; the time inside the script is what `INFO commandstats` tells. Rounds of all are interleaved,
//! and the median of five is told with the lowest and the highest.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot go on ends")]

#[path = "../tests/server.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod server;

use std::hint::black_box;
use std::time::{Duration, Instant};

use server::{Client, RedisServer};
use weir_limiter::{Batch, Check, Limit, Quota, Timestamp, decide, decide_script};

const KEYS: usize = 20_000;
const ROUNDS: usize = 5;
const DECISIONS: usize = 100_000;

/// The textbook: one key a call, whole tokens in a hash, refilled in floating point.
const TEXTBOOK: &str = "
local capacity, rate, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME'); local now = t[1]*1000 + t[2]/1000
local d = redis.call('HMGET', KEYS[1], 'tokens', 'ts')
local tokens, ts = tonumber(d[1]), tonumber(d[2])
if tokens == nil then tokens = capacity; ts = now end
tokens = math.min(capacity, tokens + math.max(0, now - ts)/1000*rate)
local ok = 0
if tokens >= cost then tokens = tokens - cost; ok = 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'ts', now)
redis.call('EXPIRE', KEYS[1], 60)
return ok";

fn limits() -> Vec<Limit> {
    let quota = Quota::new(100_000, Duration::from_secs(60)).expect("in range");
    vec![
        Limit::fixed_window(quota),
        Limit::sliding_window(quota),
        Limit::sliding_log(Quota::new(1_000, Duration::from_secs(60)).expect("in range")).expect("in range"),
        Limit::token_bucket(quota, 100_000).expect("in range"),
        Limit::leaky_bucket(quota, 100_000).expect("in range"),
    ]
}

fn names() -> Vec<String> {
    (0..KEYS).map(|i| format!("weir:{{shop}}:{:022}", (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
}

/// Calls ready to send, over keys in a scattered order.
fn calls(limit: Limit, batch: usize, digest: &str, names: &[String]) -> Vec<redis::Pipeline> {
    let depth = if batch == 1 { 64 } else { 1 };
    let mut next = 0;
    let mut packed = Batch::new();
    (0..DECISIONS / batch / depth)
        .map(|_| {
            let mut pipeline = redis::pipe();
            for _ in 0..depth {
                packed.clear();
                for _ in 0..batch {
                    next = (next + 7_919) % names.len();
                    packed.push(&[Check { key: &names[next], limit, cost: 1 }]);
                }
                pipeline.cmd("EVALSHA").arg(digest).arg(packed.distinct_keys()).arg(packed.keys()).arg(packed.args());
            }
            pipeline
        })
        .collect()
}

fn textbook_calls(digest: &str, names: &[String]) -> Vec<redis::Pipeline> {
    let mut next = 0;
    (0..DECISIONS / 64)
        .map(|_| {
            let mut pipeline = redis::pipe();
            for _ in 0..64 {
                next = (next + 7_919) % names.len();
                pipeline.cmd("EVALSHA").arg(digest).arg(1).arg(&names[next]).arg(100_000).arg(1_666).arg(1);
            }
            pipeline
        })
        .collect()
}

/// Seconds of CPU that the server has used, to 10 ms.
fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process of ours");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("ticks");
    // utime and stime are fields 14 and 15 of the whole, a tick is 1/100 s
    (ticks(11) + ticks(12)) / 100.0
}

/// Microseconds that the server spent inside scripts.
fn script_micros(client: &mut Client) -> f64 {
    let info: String = redis::cmd("INFO").arg("commandstats").query(&mut client.connection).expect("INFO");
    let line = info.lines().find(|line| line.starts_with("cmdstat_evalsha:"));
    line.and_then(|line| line.split("usec=").nth(1)?.split(',').next()?.parse().ok()).unwrap_or(0.0)
}

fn told(mut rounds: Vec<f64>) -> String {
    rounds.sort_by(f64::total_cmp);
    format!("{:>8.0} ({:.0} to {:.0})", rounds[rounds.len() / 2], rounds[0], rounds[rounds.len() - 1])
}

fn redis_figures() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let names = names();
    let load = |script: &str, client: &mut Client| -> String {
        redis::cmd("SCRIPT").arg("LOAD").arg(script).query(&mut client.connection).expect("it loads")
    };
    let (digest, textbook) = (load(decide_script(), &mut client), load(TEXTBOOK, &mut client));
    let mut rows =
        vec![("a textbook token bucket, pipelined 64 deep".to_owned(), 1, textbook_calls(&textbook, &names))];
    for limit in limits() {
        for batch in [1, 64, 256] {
            rows.push((
                format!("{}, batch {batch}", limit.algorithm().name()),
                batch,
                calls(limit, batch, &digest, &names),
            ));
        }
    }
    let mut figures = vec![(vec![], vec![]); rows.len()];
    for _ in 0..ROUNDS {
        for ((_, batch, calls), (per_second, script)) in rows.iter().zip(&mut figures) {
            redis::cmd("FLUSHALL").exec(&mut client.connection).expect("FLUSHALL");
            let (cpu, inside) = (cpu_seconds(server.pid()), script_micros(&mut client));
            for call in calls {
                call.query::<Vec<redis::Value>>(&mut client.connection).expect("the script never fails");
            }
            let decisions = (calls.iter().map(|call| call.cmd_iter().count()).sum::<usize>() * batch) as f64;
            per_second.push(decisions / (cpu_seconds(server.pid()) - cpu));
            script.push((script_micros(&mut client) - inside) * 1000.0 / decisions);
        }
    }
    println!("decisions per CPU second of Redis                 | ns inside the script per decision");
    for ((name, _, _), (per_second, script)) in rows.iter().zip(figures) {
        println!("{name:44} {:36} | {}", told(per_second), told(script));
    }
}

fn rust_figures() {
    const TIMES: u32 = 1_000_000;
    let nanos = |started: Instant| started.elapsed().as_nanos() as f64 / f64::from(TIMES);
    for limit in limits() {
        let mut rounds = vec![];
        for _ in 0..ROUNDS {
            let (started, mut state) = (Instant::now(), [None]);
            for i in 0..TIMES {
                black_box(decide(Timestamp::from_micros(u64::from(i)), black_box(&[(limit, 1)]), &mut state));
            }
            rounds.push(nanos(started));
        }
        println!("{:44} {} ns", format!("model, {}", limit.algorithm().name()), told(rounds));
    }
    let (names, limit) = (names(), limits()[3]);
    let (mut packing, mut reading, mut batch) = (vec![], vec![], Batch::new());
    let reply = [vec![0; 8], [1_u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].repeat(64)].concat();
    for _ in 0..ROUNDS {
        let (mut pack, mut read) = (Duration::ZERO, Duration::ZERO);
        for call in 0..TIMES as usize / 64 {
            let started = Instant::now();
            batch.clear();
            for i in 0..64 {
                batch.push(&[Check { key: &names[(call * 64 + i) % KEYS], limit, cost: 1 }]);
            }
            black_box((batch.keys(), batch.args()));
            let packed = Instant::now();
            black_box(batch.read_reply(&reply).expect("a reply"));
            (pack, read) = (pack + (packed - started), read + packed.elapsed());
        }
        packing.push(pack.as_nanos() as f64 / f64::from(TIMES));
        reading.push(read.as_nanos() as f64 / f64::from(TIMES));
    }
    println!("{:44} {} ns", "packing, batch 64, per request", told(packing));
    println!("{:44} {} ns", "reading the reply, batch 64, per request", told(reading));
}

fn main() {
    rust_figures();
    redis_figures();
}
