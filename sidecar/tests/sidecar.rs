//! The real binary as a child process, ended when the test ends.
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Far more than it ever takes; reached only when something is broken.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn program() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_weir-sidecar"));
    // a developer's own settings are not the test's
    program.env_clear().env("PATH", std::env::var("PATH").unwrap_or_default());
    program
}

/// A running sidecar.
pub(crate) struct Sidecar {
    pub(crate) child: Child,
    /// Where clients connect.
    pub(crate) listen: SocketAddr,
    /// The half of the admin interface on the pod's address.
    pub(crate) admin: SocketAddr,
    /// The half on loopback.
    pub(crate) local: SocketAddr,
    log: Arc<Mutex<Vec<String>>>,
}

impl Sidecar {
    /// `run` before `upstream` with these flags, on free ports; returns when it is ready.
    pub(crate) fn start(upstream: SocketAddr, flags: &[&str]) -> Self {
        let mut program = program();
        let upstream = upstream.to_string();
        program.args(["run", "--listen", "127.0.0.1:0", "--upstream", &upstream]);
        program.args(["--admin", "127.0.0.1:0", "--admin-local", "127.0.0.1:0"]).args(flags);
        Self::spawn(program)
    }

    /// Any command line of `run`; returns when it is ready.
    pub(crate) fn spawn(mut program: Command) -> Self {
        let mut child = program.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let (told, hears) = channel();
        let (stderr, kept) = (BufReader::new(child.stderr.take().unwrap()), log.clone());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                kept.lock().unwrap().push(line.clone());
                let _ = told.send(line);
            }
        });
        let found = until_ready(&hears).unwrap_or_else(|| {
            let _ = child.kill();
            panic!("not ready: {:#?}", log.lock().unwrap())
        });
        let address = |name: &str| found.get(name).copied().unwrap_or_else(|| ([0, 0, 0, 0], 0).into());
        Self { child, listen: address("listen"), admin: address("admin"), local: address("admin_local"), log }
    }

    /// Everything it has logged.
    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    /// Waits until it has logged a line with this in it.
    pub(crate) async fn logs(&self, text: &str) {
        let began = Instant::now();
        while !self.log().contains(text) {
            assert!(began.elapsed() < PATIENCE, "no `{text}` in:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
    }

    /// Waits for its end; the exit code.
    pub(crate) async fn ends(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < PATIENCE, "still running:\n{}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Sidecar {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log.lock().map(|lines| lines.clone()).unwrap_or_default();
            eprintln!("--- the last lines of the sidecar ---\n{}", log[log.len().saturating_sub(40)..].join("\n"));
        }
    }
}

/// The addresses that the lines name, by field; `None` when it ends or is never ready.
fn until_ready(lines: &Receiver<String>) -> Option<BTreeMap<String, SocketAddr>> {
    let mut found = BTreeMap::new();
    while let Ok(line) = lines.recv_timeout(PATIENCE) {
        for (name, value) in line.split(' ').filter_map(|word| word.split_once('=')) {
            if let Ok(address) = value.parse::<SocketAddr>()
                && ["listen", "admin", "admin_local"].contains(&name)
                // the first of several listeners, and not the IPv6 twin
                && !found.contains_key(name)
            {
                found.insert(name.to_owned(), address);
            }
        }
        if line.contains("ready") {
            return Some(found);
        }
    }
    None
}
