//! A redis-server of one test, ended with the test, also when it panics.

use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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
        let mut command = Command::new("redis-server");
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"]).arg(self.dir.path());
        if self.args.iter().any(|arg| arg == "--tls-cert-file") {
            command.args(["--port", "0", "--tls-port", &port]);
        } else {
            command.args(["--port", &port]);
        }
        command.args(&self.args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("redis-server must be installed: apt-get install redis-server"));
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "redis-server does not listen on {}", self.port);
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "redis-server ended: {ended:?}");
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

/// A port that nobody listens on now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A connection to it is accepted and never answered.
pub(crate) struct SilentHost {
    listener: TcpListener,
}

impl SilentHost {
    pub(crate) fn start() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://{}", self.listener.local_addr().unwrap())
    }
}

/// Passes connections on to a server, one after the other; can swallow what the server answers.
pub(crate) struct Middle {
    pub(crate) port: u16,
    pub(crate) swallow: std::sync::Arc<std::sync::atomic::AtomicBool>,
}

impl Middle {
    pub(crate) fn start(server_port: u16) -> Self {
        use std::sync::atomic::Ordering::SeqCst;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let swallow = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let shared = std::sync::Arc::clone(&swallow);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(mut client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server_port))) else {
                    continue;
                };
                let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
                let (shared, mut server) = (std::sync::Arc::clone(&shared), server);
                std::thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = server.read(&mut buffer) {
                        if shared.load(SeqCst) {
                            break;
                        }
                        if std::io::Write::write_all(&mut client, &buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = client.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        Self { port, swallow }
    }
}

/// A certificate authority with a server certificate for 127.0.0.1, as files.
pub(crate) struct Certificates {
    pub(crate) dir: TempDir,
    pub(crate) ca_pem: String,
}

impl Certificates {
    pub(crate) fn new(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ca_key = rcgen::KeyPair::generate().unwrap();
        let mut ca = rcgen::CertificateParams::new(Vec::new()).unwrap();
        ca.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let ca_pem = ca.self_signed(&ca_key).unwrap().pem();
        let issuer = rcgen::Issuer::new(ca, ca_key);
        let key = rcgen::KeyPair::generate().unwrap();
        let leaf = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
        std::fs::write(dir.path().join("ca.crt"), &ca_pem).unwrap();
        std::fs::write(dir.path().join("tls.crt"), leaf.pem()).unwrap();
        std::fs::write(dir.path().join("tls.key"), key.serialize_pem()).unwrap();
        Self { dir, ca_pem }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A server that speaks TLS only.
    pub(crate) fn server(&self) -> Server {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (crt, key, ca) = (self.path("tls.crt"), self.path("tls.key"), self.path("ca.crt"));
        Server::with(&[
            "--tls-cert-file",
            &text(&crt),
            "--tls-key-file",
            &text(&key),
            "--tls-ca-cert-file",
            &text(&ca),
            "--tls-auth-clients",
            "no",
        ])
    }
}
