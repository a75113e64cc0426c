//! Hosts that misbehave: one that never answers, and one in the middle that swallows answers.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

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
    pub(crate) swallow: Arc<AtomicBool>,
}

impl Middle {
    pub(crate) fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let swallow = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&swallow);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(mut client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server_port))) else {
                    continue;
                };
                let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
                let (shared, mut server) = (Arc::clone(&shared), server);
                std::thread::spawn(move || {
                    let mut buffer = [0; 65536];
                    while let Ok(count @ 1..) = server.read(&mut buffer) {
                        if shared.load(SeqCst) {
                            break;
                        }
                        if client.write_all(&buffer[..count]).is_err() {
                            break;
                        }
                    }
                    let _ = client.shutdown(Shutdown::Both);
                });
            }
        });
        Self { port, swallow }
    }
}
