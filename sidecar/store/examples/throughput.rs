//! How fast a store decides, and what a decision costs in CPU on both sides.
//!
//! Run against a redis-server of your own: `cargo run --release -p weir-store --example throughput --
//! redis://127.0.0.1:6379 [callers] [seconds] [keys] [threads]`. With `memory:` there is no other side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use weir_limiter::{Check, Limit, Quota};
use weir_store::{Credentials, Namespace, Observer, Reason, Store};

#[derive(Default)]
struct Calls {
    calls: AtomicU64,
    failed: AtomicU64,
}

impl Observer for Calls {
    fn call(&self, _: usize, _: Duration, failed: Option<Reason>) {
        self.calls.fetch_add(1, Relaxed);
        self.failed.fetch_add(u64::from(failed.is_some()), Relaxed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| args.get(place).map_or(Ok(default), |text| text.parse());
    let url = args.first().cloned().unwrap_or_else(|| "memory:".to_owned());
    let (callers, seconds, keys, threads) = (number(1, 32)?, number(2, 5)?, number(3, 10_000)?, number(4, 2)?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads.try_into()?).enable_all().build()?;
    runtime.block_on(measure(&url, callers, Duration::from_secs(seconds), keys))
}

async fn measure(url: &str, callers: u64, lasting: Duration, keys: u64) -> Result<(), Box<dyn std::error::Error>> {
    let counts = Arc::new(Calls::default());
    let store = Store::open(Some(url), Credentials::None, Arc::<Calls>::clone(&counts))?;
    store.ping().await?;
    let namespace = Namespace::new("bench")?;
    let limit = Limit::token_bucket(Quota::new(1_000_000, Duration::from_secs(1))?, 1_000_000)?;
    let server_before = server_cpu(url);
    let client_before = cpu_of("self");
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for caller in 0..callers {
        let (store, namespace) = (store.clone(), namespace.clone());
        tasks.spawn(async move {
            let (mut waits, mut errors) = (Vec::new(), 0_u64);
            let mut number = caller.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            while start.elapsed() < lasting {
                number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let key = store.state_key(&namespace, &((number >> 33) % keys).to_le_bytes());
                let asked = Instant::now();
                match store.decide(&[Check { key, limit, cost: 1 }]).await {
                    Ok(_) => waits.push(asked.elapsed()),
                    Err(_) => errors += 1,
                }
            }
            (waits, errors)
        });
    }
    let all = tasks.join_all().await;
    let took = start.elapsed();
    let mut waits: Vec<Duration> = all.iter().flat_map(|(waits, _)| waits.iter().copied()).collect();
    let errors: u64 = all.iter().map(|(_, errors)| errors).sum();
    waits.sort_unstable();
    let decisions = waits.len().max(1) as f64;
    let each = |cpu: Duration| cpu.as_secs_f64() * 1e6 / decisions;
    let client = each(cpu_of("self").saturating_sub(client_before));
    let server = each(server_cpu(url).saturating_sub(server_before));
    let at = |share: f64| waits.get((share * decisions) as usize).copied().unwrap_or_default();
    println!(
        "{:.0} decisions/s, {errors} errors, {:.1} a call; CPU a decision: {client:.1} us here + {server:.1} us server; \
         wait p50 {:?} p99 {:?} max {:?}",
        decisions / took.as_secs_f64(),
        decisions / counts.calls.load(Relaxed).max(1) as f64,
        at(0.5),
        at(0.99),
        waits.last().copied().unwrap_or_default(),
    );
    Ok(())
}

/// CPU time of a process on Linux (proc(5)), in ticks of 10 ms.
fn cpu_of(pid: &str) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<u64>().ok()).unwrap_or_default();
    Duration::from_millis(10 * (ticks(11) + ticks(12)))
}

/// CPU time of the server, as it tells it itself.
fn server_cpu(url: &str) -> Duration {
    let ask = || -> Option<Duration> {
        let mut connection = redis::Client::open(url).ok()?.get_connection().ok()?;
        let info: String = redis::cmd("INFO").arg("cpu").query(&mut connection).ok()?;
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        Some(Duration::from_secs_f64(field("used_cpu_sys:")? + field("used_cpu_user:")?))
    };
    ask().unwrap_or_default()
}
