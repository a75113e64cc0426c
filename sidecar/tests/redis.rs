//! A redis-server of the test's own, on a free port, ended when the test ends.
use super::sidecar::PATIENCE;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Redis {
    child: Option<Child>,
    pub(crate) address: SocketAddr,
}

impl Redis {
    /// Started and answering.
    pub(crate) fn start() -> Self {
        let mut redis = Self::absent();
        redis.come();
        redis
    }

    /// An address where none answers yet.
    pub(crate) fn absent() -> Self {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        Self { child: None, address }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}/0", self.address)
    }

    /// Starts it where it is expected; returns when it answers.
    pub(crate) fn come(&mut self) {
        let port = self.address.port().to_string();
        let child = Command::new("redis-server")
            .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server runs: install the Debian package redis-server");
        self.child = Some(child);
        let began = Instant::now();
        while self.command("PING") != "+PONG\r\n" {
            assert!(began.elapsed() < PATIENCE, "redis-server does not answer on port {port}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Ends it at once, as a crash does.
    pub(crate) fn die(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The reply to an inline command, empty when there is none.
    pub(crate) fn command(&self, command: &str) -> String {
        let Ok(mut stream) = TcpStream::connect(self.address) else { return String::new() };
        let _ = stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes());
        let mut reply = String::new();
        let _ = stream.read_to_string(&mut reply);
        reply.trim_end_matches("+OK\r\n").to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.die();
    }
}
