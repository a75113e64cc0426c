//! A redis-server of a test's own, on a unix socket in a folder of its own; gone when the test ends, however it ends.
//! `WEIR_TEST_REDIS` names another program to start in its place: another version, or Valkey.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use redis::{Connection, RedisResult};
use tempfile::TempDir;
use weir_limiter::{Batch, Decision, Reply, Timestamp, decide_script, test_clock};

pub(crate) struct RedisServer {
    process: Child,
    folder: TempDir,
}

/// A connection with the script loaded.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    digest: String,
}

// === impl RedisServer ===

impl RedisServer {
    pub(crate) fn start() -> Self {
        let folder = TempDir::new().expect("a temporary folder");
        let program = std::env::var_os("WEIR_TEST_REDIS").unwrap_or_else(|| "redis-server".into());
        let process = Command::new(&program)
            .args(["--port", "0", "--save", "", "--appendonly", "no", "--unixsocket"])
            .arg(folder.path().join("socket"))
            .arg("--dir")
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "{} cannot be started ({error}); apt-get install redis-server, or set WEIR_TEST_REDIS to a server's path",
                    program.display()
                )
            });
        let mut server = Self { process, folder };
        let deadline = Instant::now() + Duration::from_secs(60);
        while try_connect(&server.socket()).is_err() {
            assert!(
                server.process.try_wait().expect("a child of ours").is_none(),
                "{} ended at once",
                program.display()
            );
            assert!(Instant::now() < deadline, "{} did not answer within a minute", program.display());
            std::thread::sleep(Duration::from_millis(2));
        }
        server
    }

    pub(crate) fn connect(&self) -> Client {
        Client::connect(&self.socket())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    #[allow(dead_code, reason = "the benchmark reads its CPU time")]
    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        // it may have ended already
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn try_connect(socket: &Path) -> RedisResult<Connection> {
    let mut connection = redis::Client::open(format!("redis+unix://{}", socket.display()))?.get_connection()?;
    redis::cmd("PING").query::<String>(&mut connection)?;
    Ok(connection)
}

// === impl Client ===

impl Client {
    pub(crate) fn connect(socket: &Path) -> Self {
        let mut connection = try_connect(socket).expect("the server answers");
        let digest = redis::cmd("SCRIPT").arg("LOAD").arg(decide_script()).query(&mut connection).expect("it loads");
        Self { connection, digest }
    }

    /// Of the script, for `EVALSHA`.
    #[allow(dead_code, reason = "the benchmark asks by the methods below")]
    pub(crate) fn digest(&self) -> &str {
        &self.digest
    }

    /// Decides by Redis's own clock.
    pub(crate) fn decide(&mut self, batch: &Batch) -> Vec<Decision> {
        self.answer(batch).decisions
    }

    /// The whole answer, by Redis's own clock.
    #[allow(dead_code, reason = "the benchmark gives nothing back")]
    pub(crate) fn answer(&mut self, batch: &Batch) -> Reply {
        self.call(batch, None)
    }

    /// Decides at `now`; states live a day, whatever Redis's clock says.
    pub(crate) fn decide_at(&mut self, now: u64, batch: &Batch) -> Vec<Decision> {
        self.answer_at(now, batch).decisions
    }

    /// The whole answer at `now`.
    pub(crate) fn answer_at(&mut self, now: u64, batch: &Batch) -> Reply {
        self.call(batch, Some(test_clock(Timestamp::from_micros(now), 86_400_000)))
    }

    fn call(&mut self, batch: &Batch, clock: Option<Vec<u8>>) -> Reply {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&self.digest).arg(batch.distinct_keys()).arg(batch.keys()).arg(batch.args());
        if let Some(clock) = clock {
            command.arg(clock);
        }
        let reply: Vec<u8> = command.query(&mut self.connection).expect("the script never fails");
        batch.read_reply(&reply).expect("a reply to this batch")
    }
}
