//! What is measured of a server, and how it is told.

use crate::server::Client;

/// Seconds of CPU that a process has used, to 10 ms.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process of ours");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks = |i: usize| fields[i].parse::<f64>().expect("ticks");
    // utime and stime are fields 14 and 15 of the whole, a tick is 1/100 s
    (ticks(11) + ticks(12)) / 100.0
}

/// Of `INFO section`, the number after these words.
fn info(client: &mut Client, section: &str, words: &[&str]) -> f64 {
    let info: String = redis::cmd("INFO").arg(section).query(&mut client.connection).expect("INFO");
    let rest = words.iter().try_fold(info.as_str(), |rest, word| Some(rest.split_once(word)?.1));
    let number = rest.and_then(|rest| rest.split([',', '\r']).next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// Microseconds that the server has spent inside scripts.
#[allow(dead_code, reason = "one of the benchmarks asks")]
pub(crate) fn script_micros(client: &mut Client) -> f64 {
    info(client, "commandstats", &["cmdstat_evalsha:", "usec="])
}

/// Bytes.
#[allow(dead_code, reason = "one of the benchmarks asks")]
pub(crate) fn used_memory(client: &mut Client) -> f64 {
    info(client, "memory", &["used_memory:"])
}

pub(crate) fn load(client: &mut Client, script: &str) -> String {
    redis::cmd("SCRIPT").arg("LOAD").arg(script).query(&mut client.connection).expect("it loads")
}

/// The middle one of some rounds, then the lowest and the highest.
pub(crate) fn told(mut rounds: Vec<f64>) -> String {
    rounds.sort_by(f64::total_cmp);
    format!("{:>8.0} ({:.0} to {:.0})", rounds[rounds.len() / 2], rounds[0], rounds[rounds.len() - 1])
}
