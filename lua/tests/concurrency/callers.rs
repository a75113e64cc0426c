//! Callers in processes of their own, on connections of their own: this test binary, run again for the one test that wants
//! them. What they do, and what is held of it, stands in that test.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::server::{Client, RedisServer};

const PROCESSES: usize = 8;
/// Of each process.
const CONNECTIONS: usize = 8;
/// In all.
const CALLERS: usize = PROCESSES * CONNECTIONS;

/// Tells a process that it is one of the eight: which, and the server's socket.
const ROLE: (&str, &str) = ("WEIR_TEST_CALLERS", "WEIR_TEST_CALLERS_SOCKET");

/// Longer than anything that is waited for takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and the processes that call it; they end with the test, also when it panics.
pub(super) struct Callers {
    pub(super) server: RedisServer,
    processes: Vec<Child>,
}

/// One connection of one process.
pub(super) struct Caller {
    /// From 0 to 63.
    pub(super) number: u64,
    pub(super) client: Client,
    rounds: u64,
}

// === impl Callers ===

impl Callers {
    /// Starts a server, and `work` for each connection of each process. `test` is the full name of the test that calls this,
    /// in which nothing may happen before; in the processes this is where it ends.
    pub(super) fn start<T: Serialize + Send>(test: &str, work: impl Fn(Caller) -> T + Sync) -> Self {
        if let (Ok(process), Some(socket)) = (env::var(ROLE.0), env::var_os(ROLE.1)) {
            be_one_of_them(process.parse().expect("a number"), &PathBuf::from(socket), work);
        }
        let mut callers = Self { server: RedisServer::start(), processes: vec![] };
        for process in 0..PROCESSES {
            let child = Command::new(env::current_exe().expect("this program has a path"))
                .args([test, "--exact", "--nocapture"])
                .env(ROLE.0, process.to_string())
                .env(ROLE.1, callers.server.socket())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .spawn()
                .expect("this program starts once more");
            callers.processes.push(child);
        }
        callers
    }

    /// Waits for all of them: the server, and what `work` returned for each connection.
    pub(super) fn join<T: DeserializeOwned>(mut self) -> (Self, Vec<T>) {
        let mut results = vec![];
        for (process, child) in self.processes.iter_mut().enumerate() {
            assert!(child.wait().expect("a child of ours").success(), "the callers of process {process} failed");
            let told = fs::read(result(&self.server.socket(), process)).expect("is this the name of the calling test?");
            results.extend(serde_json::from_slice::<Vec<T>>(&told).expect("results of this test"));
        }
        assert_eq!(results.len(), CALLERS);
        (self, results)
    }

    /// SIGKILL to all of them, in the middle of whatever they do.
    pub(super) fn kill(&mut self) {
        for mut child in self.processes.drain(..) {
            // it may have ended already
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.kill();
    }
}

fn result(socket: &Path, process: usize) -> PathBuf {
    socket.with_file_name(format!("callers-{process}"))
}

fn be_one_of_them<T: Serialize + Send>(process: usize, socket: &Path, work: impl Fn(Caller) -> T + Sync) -> ! {
    let results: Vec<T> = thread::scope(|scope| {
        let call = |connection: usize| {
            let (work, number) = (&work, (process * CONNECTIONS + connection) as u64);
            scope.spawn(move || work(Caller { number, client: Client::connect(socket), rounds: 0 }))
        };
        let threads: Vec<_> = (0..CONNECTIONS).map(call).collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller")).collect()
    });
    fs::write(result(socket, process), serde_json::to_vec(&results).expect("JSON")).expect("the server's folder");
    std::process::exit(0)
}

// === impl Caller ===

impl Caller {
    /// Waits until all 64 have come so far, so that all begin what follows at one moment.
    pub(super) fn together(&mut self) {
        self.rounds += 1;
        let (arrived, go) = (format!("arrived {}", self.rounds), format!("go {}", self.rounds));
        let connection = &mut self.client.connection;
        let count: usize = redis::cmd("INCR").arg(&arrived).query(connection).expect("INCR");
        if count == CALLERS {
            redis::cmd("DEL").arg(&arrived).exec(connection).expect("DEL");
            redis::cmd("RPUSH").arg(&go).arg(vec![1; CALLERS]).exec(connection).expect("RPUSH");
        }
        let told: Option<(String, u8)> =
            redis::cmd("BLPOP").arg(&go).arg(PATIENCE.as_secs()).query(connection).expect("BLPOP");
        assert!(told.is_some(), "the others never came so far");
    }
}
