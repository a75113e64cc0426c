//! What happens when many states end at once, and when a server is full.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_limiter::{Limit, Quota};

use crate::figure::used_memory;
use crate::layout::Layout;
use crate::{KEYS, Subject, batch};

/// States of the two limits that fill a server with room for twice the first.
const FIRST: usize = 50_000;
const SECOND: usize = 60_000;

fn window(requests: u64) -> Limit {
    Limit::fixed_window(Quota::new(requests, Quota::MAX_PERIOD).expect("in range"))
}

fn every_key(subject: &mut Subject) -> Vec<Vec<u8>> {
    redis::cmd("KEYS").arg("*").query(&mut subject.client.connection).expect("KEYS")
}

/// The longest of the pings that another connection sends, one a millisecond, while `what` runs.
fn longest_ping(subject: &Subject, what: impl FnOnce()) -> Duration {
    let (mut other, ended) = (subject.server.connect(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let pings = scope.spawn(|| {
            let mut longest = Duration::ZERO;
            while !ended.load(Ordering::Relaxed) {
                let began = Instant::now();
                redis::cmd("PING").exec(&mut other.connection).expect("PING");
                longest = longest.max(began.elapsed());
                std::thread::sleep(Duration::from_millis(1));
            }
            longest
        });
        what();
        ended.store(true, Ordering::Relaxed);
        pings.join().expect("pings")
    })
}

pub(crate) fn stalls() {
    println!("longest wait of a PING while 1,000,000 states end at one instant, in ms: lowest and highest of 3");
    for lazy in ["no", "yes"] {
        for layout in Layout::ALL {
            let (mut quiet, mut ending) = (vec![], vec![]);
            for _ in 0..3 {
                let mut subject = Subject::start(layout);
                subject.config("lazyfree-lazy-expire", lazy);
                subject.fill(window(1_000), 1, KEYS);
                let wait = || std::thread::sleep(Duration::from_secs(1));
                quiet.push(longest_ping(&subject, wait));
                let ends: Duration = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("after 1970");
                // later than the last of them has been told
                let ends = ends.as_millis() as u64 + if layout == Layout::Strings { 20_000 } else { 2_000 };
                for keys in every_key(&mut subject).chunks(5_000) {
                    let script = "for i = 1, #KEYS do redis.call('PEXPIREAT', KEYS[i], ARGV[1]) end";
                    let mut command = redis::cmd("EVAL");
                    command.arg(script).arg(keys.len()).arg(keys).arg(ends);
                    command.exec(&mut subject.client.connection).expect("PEXPIREAT");
                }
                let mut client = subject.server.connect();
                let mut size = move || redis::cmd("DBSIZE").query::<usize>(&mut client.connection).expect("DBSIZE");
                assert!(layout == Layout::Hashes || size() == KEYS, "some have ended already");
                let gone = move || {
                    while size() > 0 {
                        std::thread::sleep(Duration::from_millis(50));
                    }
                };
                ending.push(longest_ping(&subject, gone));
            }
            let told = |mut times: Vec<Duration>| {
                times.sort();
                format!("{:.1} to {:.1}", times[0].as_secs_f64() * 1e3, times[2].as_secs_f64() * 1e3)
            };
            println!("{:8} lazy {lazy:3}: {}; when nothing ends {}", layout.name(), told(ending), told(quiet));
        }
    }
}

/// One limit is asked for by 50,000 clients, then another by ever more, and the server is full.
pub(crate) fn evictions() {
    println!(
        "a server with room for 100,000 states: 50,000 of one limit, then 60,000 of another; counts that are left"
    );
    for layout in Layout::ALL {
        for policy in ["noeviction", "allkeys-lru", "volatile-ttl"] {
            let mut subject = Subject::start(layout);
            let (first, second) = (window(10), Limit::sliding_window(window(10).quota()));
            let before = used_memory(&mut subject.client);
            subject.fill(first, 1, FIRST);
            let room = 2.0 * used_memory(&mut subject.client) - before;
            subject.config("maxmemory", &format!("{room:.0}"));
            subject.config("maxmemory-policy", policy);
            let refused = (0..SECOND).step_by(1_000).filter(|from| {
                // a server evicts for half a millisecond at most before it goes on, and then in the background
                std::thread::sleep(Duration::from_millis(5));
                let call = subject.call(&batch(second, 1, *from..from + 1_000));
                call.exec(&mut subject.client.connection).is_err()
            });
            let refused = refused.count();
            subject.config("maxmemory", "0");
            let (first, second) = (left(&mut subject, first, FIRST), left(&mut subject, second, SECOND));
            println!(
                "{:8} {policy:12}: {first} of 50,000, then {second} of 60,000; {refused} calls of 60 refused",
                layout.name()
            );
        }
    }
}

/// How many of the keys have a count.
fn left(subject: &mut Subject, limit: Limit, keys: usize) -> usize {
    let mut left = 0;
    for from in (0..keys).step_by(1_000) {
        let batch = batch(limit, 0, from..from + 1_000);
        let reply: Vec<u8> =
            subject.call(&batch).query(&mut subject.client.connection).expect("the script never fails");
        let decisions = batch.read_reply(&reply).expect("a reply to this batch").decisions;
        left += decisions.iter().filter(|decision| decision.outcomes[0].remaining < limit.capacity()).count();
    }
    left
}
