//! How many decisions a CPU second of Redis makes, and how long the model and the packing take. Prints, gates nothing.
//!
//! `cargo bench -p weir-limiter --bench decisions` starts a redis-server of its own and asks for distinct keys out of
//! 20,000, in calls of 1, 64 and 256 requests; calls of 1 are pipelined 64 deep. All are admitted, and no state ends
//! meanwhile, but for the busy logs'. Then it asks for one hot key, in calls of one entry for 64 callers. The CPU time is the
//! server process's own, from `/proc/<pid>/stat`; the time inside the script is what `INFO commandstats` tells. Rounds of
//! all are interleaved, and the median of five is told with the lowest and the highest. A ratio is of two rows of one round.

#![allow(clippy::expect_used, clippy::panic, reason = "a benchmark that cannot go on ends")]

mod figure;
#[path = "../tests/server.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod server;

use std::hint::black_box;
use std::time::{Duration, Instant};

use figure::{cpu_seconds, load, script_micros, told};
use server::RedisServer;
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

/// A log in a sorted set that does what SlidingLog does: a cost, units that are each their own, what remains, and when what
/// was refused has room. One key a call.
const SORTED_SET: &str = "
local n, p, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local t = redis.call('TIME'); local now = t[1]*1000000 + t[2]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - p)
local live = redis.call('ZCARD', KEYS[1])
if live + cost > n then
  if cost > n then return {0, n - live, -1} end
  local i = live + cost - 1 - n
  local unit = redis.call('ZRANGE', KEYS[1], i, i, 'WITHSCORES')
  return {0, n - live, unit[2] + p - now}
end
for i = 1, cost do redis.call('ZADD', KEYS[1], now, string.format('%.0f %d', now, live + i)) end
redis.call('PEXPIRE', KEYS[1], p / 1000)
return {1, n - live - cost, p}";

/// Of the logs.
const N: u64 = 1_000;
/// Logs that are asked for all the time, and their period: some hundred units are in each, and one passes as one comes.
const BUSY: (usize, Duration) = (300, Duration::from_millis(500));

/// Of one key at once.
const CALLERS: u16 = 64;
/// Decisions about one hot key, coalesced: more than of others, for a round of these to take time that can be told.
const COALESCED: usize = 40 * DECISIONS;

fn quota(requests: u64, period: Duration) -> Quota {
    Quota::new(requests, period).expect("in range")
}

fn log(period: Duration) -> Limit {
    Limit::sliding_log(quota(N, period)).expect("in range")
}

/// Of each variant, one under which a key may be asked for some times before it ends or refuses.
fn limits() -> Vec<(&'static str, Limit)> {
    let day = Duration::from_secs(24 * 3600);
    let quota = quota(1_000, day);
    vec![
        ("FixedWindow", Limit::fixed_window(quota)),
        ("SlidingWindow", Limit::sliding_window(quota)),
        ("SlidingLog", log(day)),
        ("TokenBucket", Limit::token_bucket(quota, 1_000).expect("in range")),
        ("LeakyBucket", Limit::leaky_bucket(quota, 1_000).expect("in range")),
        ("queue", Limit::leaky_queue(quota, Some(1_000), Limit::MAX_WAIT).expect("in range")),
    ]
}

fn names(keys: usize) -> Vec<String> {
    (0..keys).map(|i| format!("weir:{{shop}}:{:022x}", (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect()
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

/// Calls ready to send for one hot key, each asked for by 64 callers at once: pipelined so many deep.
fn coalesced_calls(limit: Limit, depth: usize, digest: &str, hot: &str) -> Vec<redis::Pipeline> {
    let mut packed = Batch::new();
    packed.push_many(&[Check { key: hot, limit, cost: 1 }], CALLERS);
    let call = || {
        let mut pipeline = redis::pipe();
        for _ in 0..depth {
            pipeline.cmd("EVALSHA").arg(digest).arg(1).arg(packed.keys()).arg(packed.args());
        }
        pipeline
    };
    (0..COALESCED / usize::from(CALLERS) / depth).map(|_| call()).collect()
}

/// Calls of a script that takes one key.
fn calls_of_one(digest: &str, args: &[u64], depth: usize, names: &[String]) -> Vec<redis::Pipeline> {
    let mut next = 0;
    (0..DECISIONS / depth)
        .map(|_| {
            let mut pipeline = redis::pipe();
            for _ in 0..depth {
                next = (next + 7_919) % names.len();
                pipeline.cmd("EVALSHA").arg(digest).arg(1).arg(&names[next]).arg(args);
            }
            pipeline
        })
        .collect()
}

/// A name, decisions a command, and the calls.
type Row = (String, usize, Vec<redis::Pipeline>);

fn rows(digest: &str, textbook: &str, sorted_set: &str) -> Vec<Row> {
    let (all, busy) = (names(KEYS), names(BUSY.0));
    let mut rows = vec![];
    for depth in [64, 256] {
        let micros = |period: Duration| period.as_micros() as u64;
        let bucket = [100_000, 1_666, 1];
        rows.push((format!("textbook bucket, {depth} deep"), 1, calls_of_one(textbook, &bucket, depth, &all)));
        let day = [N, micros(Duration::from_secs(24 * 3600)), 1];
        rows.push((format!("sorted set, {depth} deep"), 1, calls_of_one(sorted_set, &day, depth, &all)));
        let short = [N, micros(BUSY.1), 1];
        rows.push((format!("busy sorted set, {depth} deep"), 1, calls_of_one(sorted_set, &short, depth, &busy)));
    }
    for batch in [1, 64, 256] {
        for (name, limit) in limits() {
            rows.push((format!("{name}, batch {batch}"), batch, calls(limit, batch, digest, &all)));
        }
        rows.push((format!("busy SlidingLog, batch {batch}"), batch, calls(log(BUSY.1), batch, digest, &busy)));
    }
    rows.extend(coalesced_rows(digest, textbook, &all[0]));
    rows
}

/// Of one hot key: the textbook, and callers of whom many are one entry.
fn coalesced_rows(digest: &str, textbook: &str, hot: &String) -> Vec<Row> {
    let plenty = [1_000_000_000, 1_000_000_000, 1];
    let roomy = Limit::token_bucket(quota(1_000_000_000, Duration::from_secs(1)), 1_000_000_000);
    // one passes a day
    let empty = Limit::token_bucket(quota(1, Duration::from_secs(24 * 3600)), 1);
    let mut rows = vec![(TEXTBOOK_HOT.to_owned(), 1, calls_of_one(textbook, &plenty, 64, std::slice::from_ref(hot)))];
    for (name, depth, limit) in [(HOT, 1, roomy), (HOT_DEEP, 64, roomy), (REFUSED, 1, empty)] {
        let calls = coalesced_calls(limit.expect("in range"), depth, digest, hot);
        rows.push((name.to_owned(), usize::from(CALLERS), calls));
    }
    rows
}

const TEXTBOOK_HOT: &str = "textbook bucket, one hot key, 64 deep";
const HOT: &str = "one hot key asked by 64 callers, coalesced";
const HOT_DEEP: &str = "one hot key asked by 64 callers, coalesced, 64 deep";
const REFUSED: &str = "one hot key refused to 64 callers, coalesced";

/// Rows to compare: this one by that one.
const RATIOS: [(&str, &str); 9] = [
    ("TokenBucket, batch 64", "textbook bucket, 64 deep"),
    ("TokenBucket, batch 256", "textbook bucket, 256 deep"),
    ("SlidingLog, batch 1", "sorted set, 64 deep"),
    ("SlidingLog, batch 64", "sorted set, 64 deep"),
    ("busy SlidingLog, batch 1", "busy sorted set, 64 deep"),
    ("busy SlidingLog, batch 64", "busy sorted set, 64 deep"),
    ("busy SlidingLog, batch 256", "busy sorted set, 256 deep"),
    (HOT, TEXTBOOK_HOT),
    (HOT_DEEP, TEXTBOOK_HOT),
];

fn redis_figures() {
    let server = RedisServer::start();
    let mut client = server.connect();
    let [digest, textbook, sorted_set] =
        [decide_script(), TEXTBOOK, SORTED_SET].map(|script| load(&mut client, script));
    let rows = rows(&digest, &textbook, &sorted_set);
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
    println!("{:89} | ns inside the script per decision", "decisions per CPU second of Redis");
    for ((name, _, _), (per_second, script)) in rows.iter().zip(&figures) {
        println!("{name:52} {:36} | {}", told(per_second.clone()), told(script.clone()));
    }
    let of = |name: &str| &figures[rows.iter().position(|row| row.0 == name).expect(name)].0;
    for (row, by) in RATIOS {
        let mut ratios: Vec<_> = of(row).iter().zip(of(by)).map(|(row, by)| row / by).collect();
        ratios.sort_by(f64::total_cmp);
        println!("{row} / {by}: {:.2} ({:.2} to {:.2})", ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
    }
}

fn rust_figures() {
    const TIMES: u32 = 1_000_000;
    let nanos = |started: Instant| started.elapsed().as_nanos() as f64 / f64::from(TIMES);
    let most = quota(1_000_000_000, Duration::from_secs(60));
    // µs from one to the next: all are admitted, and the log is full while one passes as one comes
    let full_log = ("SlidingLog", log(Duration::from_secs(60)), 60_000);
    let others = [
        ("FixedWindow", Limit::fixed_window(most), 1),
        ("SlidingWindow", Limit::sliding_window(most), 1),
        full_log,
        ("TokenBucket", Limit::token_bucket(most, 1_000_000_000).expect("in range"), 1),
        ("LeakyBucket", Limit::leaky_bucket(most, 1_000_000_000).expect("in range"), 1),
        ("queue", Limit::leaky_queue(most, None, Limit::MAX_WAIT).expect("in range"), 1),
    ];
    for (name, limit, step) in others {
        let mut rounds = vec![];
        for _ in 0..ROUNDS {
            let (started, mut state) = (Instant::now(), [None]);
            for i in 0..TIMES {
                let now = Timestamp::from_micros(u64::from(i) * step);
                black_box(decide(now, black_box(&[(limit, 1)]), &mut state));
            }
            rounds.push(nanos(started));
        }
        println!("{:44} {} ns", format!("model, {name}"), told(rounds));
    }
    let (names, limit) = (names(KEYS), limits()[3].1);
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
