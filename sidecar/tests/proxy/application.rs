//! An application that does on each connection what a test says.
use super::raw::Raw;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Listens as long as it lives.
pub(crate) struct Application {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

impl Application {
    /// Each connection, with its number from 0, is given to `serve`.
    pub(crate) async fn start<F, Served>(serve: F) -> Self
    where
        F: Fn(usize, Raw) -> Served + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        Self::start_on("127.0.0.1:0".parse().unwrap(), serve).await
    }

    pub(crate) async fn start_on<F, Served>(address: SocketAddr, serve: F) -> Self
    where
        F: Fn(usize, Raw) -> Served + Send + 'static,
        Served: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut served = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                served.spawn(serve(count.fetch_add(1, Ordering::SeqCst), Raw::new(stream)));
            }
        });
        Self { address, connections, _task: task }
    }

    /// Answers every request with 200 and the request's head as body.
    pub(crate) async fn echo() -> Self {
        Self::start(|_, raw| echo(raw)).await
    }

    /// Answers every request with these bytes.
    pub(crate) async fn answering(answer: &'static str) -> Self {
        Self::start(move |_, mut raw| async move {
            loop {
                let head = raw.read_head().await;
                let length = super::raw::header(&head, "content-length").map_or(0, |value| value.parse().unwrap());
                raw.read_exact(length).await;
                raw.write(answer).await;
            }
        })
        .await
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Answers every request of a connection with its own head.
pub(crate) async fn echo(mut raw: Raw) {
    loop {
        let (head, _) = raw.read_message().await;
        let length = head.len();
        raw.write(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{head}")).await;
    }
}
