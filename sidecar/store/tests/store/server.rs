//! A redis-server of one test, ended with the test, also when it panics. `WEIR_TEST_REDIS` names another program to start in
//! its place: another version, or Valkey.

use std::ffi::OsString;
use std::hash::{BuildHasher as _, RandomState};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long a server may take to start or to answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Server {
    child: Option<Child>,
    dir: TempDir,
    port: u16,
    args: Vec<String>,
}

impl Server {
    /// A server without a password.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A server with more arguments.
    pub(crate) fn with(args: &[&str]) -> Self {
        let mut server = Self::planned(args);
        server.resume();
        server
    }

    /// A place for a server that is not started yet.
    pub(crate) fn planned(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { child: None, dir, port: free_port(), args: args.iter().map(|arg| (*arg).to_owned()).collect() }
    }

    /// Starts it again, on the same port and empty.
    pub(crate) fn resume(&mut self) {
        assert!(self.child.is_none());
        let port = self.port.to_string();
        let program = self.program();
        let mut command = Command::new(&program);
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]).arg(self.dir.path());
        if self.speaks_tls() {
            command.args(["--port", "0", "--tls-port", &port]);
        } else {
            command.args(["--port", &port]);
        }
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = program.display();
        self.child = Some(command.spawn().unwrap_or_else(|error| {
            panic!("{program} can't be started ({error}); apt-get install redis-server, or set WEIR_TEST_REDIS to a server's path")
        }));
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "{program} does not listen on {}", self.port);
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{program} ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn freeze(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("-CONT");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Asks by a connection of its own, as the default user without a password.
    pub(crate) fn ask<T: redis::FromRedisValue>(&self, words: &[&str]) -> T {
        let client = redis::Client::open(self.url()).unwrap();
        let mut connection = client.get_connection_with_timeout(PATIENCE).unwrap();
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]).query(&mut connection).unwrap()
    }

    /// Every key must end some time.
    pub(crate) fn assert_every_key_has_a_ttl(&self) {
        for key in self.ask::<Vec<String>>(&["KEYS", "*"]) {
            let ttl: i64 = self.ask(&["PTTL", &key]);
            // -2: ended meanwhile
            assert!(ttl > 0 || ttl == -2, "{key}: PTTL {ttl}");
        }
    }

    fn speaks_tls(&self) -> bool {
        self.args.iter().any(|arg| arg == "--tls-cert-file")
    }

    /// Not every build of a server has TLS, so those that speak it are the system's own redis-server.
    fn program(&self) -> OsString {
        let chosen = std::env::var_os("WEIR_TEST_REDIS").filter(|_| !self.speaks_tls());
        chosen.unwrap_or_else(|| "redis-server".into())
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL ends a stopped process too
        self.kill();
    }
}

/// A port that nobody listens on now. Below the ports that Linux gives to outgoing connections, which would take one
/// while its server is down; begun at a random place, since other processes look as well.
pub(crate) fn free_port() -> u16 {
    static NEXT: LazyLock<AtomicU64> = LazyLock::new(|| AtomicU64::new(RandomState::new().hash_one(0)));
    loop {
        let port = 15_000 + (NEXT.fetch_add(1, SeqCst) % 17_000) as u16;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
