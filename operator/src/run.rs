//! `weir-operator run`: opens what the flags name, and puts the parts together. It decides nothing itself.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing::{info, warn};
use weir_store::{Credentials, Store, Waits};

use crate::admin::{self, Admin};
use crate::certificate::{self, CertificateSettings, ServingCertificate};
use crate::cli::RunFlags;
use crate::controller::{self, Caches, Controller, Queue};
use crate::events::Reporter;
use crate::inject::Injector;
use crate::leader::{self, Lead, LeaseSettings};
use crate::log;
use crate::metrics::Metrics;
use crate::readiness::Readiness;
use crate::store_secret::{InvalidStoreSecret, Source, StoreSecret};
use crate::webhook::{self, Namespaces, Webhook, WebhookMetrics};

/// How often the files behind the Secret `weir-store` are read again.
const READ_AGAIN: Duration = Duration::from_secs(10);
/// How long a new leader waits for the store: without it every status would first say that it is away.
const STORE_WITHIN: Duration = Duration::from_secs(3);
/// For the sidecars' reports. No client waits for them, so they may take longer than a sidecar's decision: thousands of them
/// are read at once, and a Redis that is far away or busy is no reason to say that it is away.
const REPORTS_WITHIN: Waits = Waits { call: Duration::from_secs(1), connect: Duration::from_secs(1) };
/// After the signal: until the API server has heard that this replica takes no more webhooks.
const LINGER: Duration = Duration::from_secs(3);

/// Why the operator doesn't start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The system refused something.
    #[error("{0}: {1}")]
    System(&'static str, #[source] std::io::Error),
    /// An address can't be listened on.
    #[error("{flag} {address}: {source}")]
    Listen {
        /// The flag that named it.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// Neither a kubeconfig nor a pod's account leads to an API server.
    #[error("no API server: set KUBECONFIG, or run in a pod with a service account ({0})")]
    Kubernetes(#[source] Box<kube::Error>),
    /// The store's URL can't be used.
    #[error("--redis-url: {0}")]
    Store(String),
    /// A file of the store's can't be used.
    #[error(transparent)]
    StoreSecret(#[from] InvalidStoreSecret),
    /// The webhook server could not be set up.
    #[error("webhooks: {0}")]
    Webhook(#[from] rustls::Error),
}

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// What the flags name can't be used.
pub fn run(flags: RunFlags) -> Result<(), RunError> {
    // Logging that another has set up serves as well.
    let _ = log::start(flags.log_format, &flags.log_level);
    // Only one provider is linked; a second call finds it in place.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| RunError::System("start threads", error))?;
    let result = runtime.block_on(serve(flags));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(flags: RunFlags) -> Result<(), RunError> {
    let source = Source {
        url: flags.redis_url.clone(),
        password_file: flags.redis_password_file.clone(),
        ca_file: flags.redis_ca_file.clone(),
        install_key_file: flags.install_key_file.clone(),
    };
    let secret = watch::Sender::new(Arc::new(source.read()?));
    let store = open_store(&flags)?;
    let webhooks = listen("--webhook-listen", flags.webhook_listen).await?;
    let admin_listener = listen("--admin", flags.admin).await?;
    let client = Client::try_default().await.map_err(|error| RunError::Kubernetes(Box::new(error)))?;
    let stop = stop_signal()?;

    let (metrics, webhook_metrics) = Metrics::new(WebhookMetrics::register);
    let metrics = Arc::new(metrics);
    let certificates = CertificateSettings {
        namespace: flags.namespace.clone(),
        secret: flags.ca_secret.clone(),
        service: flags.webhook_service.clone(),
        mutating_webhook: flags.mutating_webhook.clone(),
        validating_webhook: flags.validating_webhook.clone(),
    };
    let serving = ServingCertificate::none_yet();
    let (namespaces, watch_namespaces) = Namespaces::watch(client.clone());
    let queue = Arc::new(Queue::default());
    let (caches, watch_all) = controller::watch(&client, queue.clone(), metrics.clone());
    let readiness = Arc::new(Readiness::new(serving.clone(), caches.clone()));

    tokio::spawn(watch_namespaces);
    tokio::spawn(watch_all);
    tokio::spawn(certificate::maintain(client.clone(), certificates.clone(), serving.clone()));
    tokio::spawn(readiness.clone().look(client.clone(), certificates.clone(), namespaces.clone()));
    tokio::spawn(admin::serve(admin_listener, Arc::new(admin(&readiness, &metrics))));

    let install_key = secret.borrow().install_key_id();
    let identity = identity(flags.pod_name.as_deref());
    let reporter = Reporter { instance: identity.0.clone() };
    let lease = LeaseSettings { namespace: flags.namespace.clone(), name: flags.lease.clone(), identity: identity.1 };
    let (leading, lead) = Lead::none_yet();
    let read_again = tokio::spawn(read_again(source, secret.clone()));
    let term = Term { client: client.clone(), store, caches, queue, secret: secret.subscribe(), reporter, metrics };
    tokio::spawn(work_while_leading(lead, term, certificates, serving.clone()));
    let election = tokio::spawn(leader::run(client, lease, leading, stopped(stop.clone())));

    let injector = Injector {
        sidecar_image: flags.sidecar_image,
        image_pull_policy: flags.sidecar_image_pull_policy,
        capture: flags.capture,
    };
    let webhook = Arc::new(Webhook { injector, namespaces, metrics: webhook_metrics });
    info!(version = env!("CARGO_PKG_VERSION"), install_key, webhooks = %flags.webhook_listen, admin = %flags.admin, "started");
    let lingering = {
        let readiness = readiness.clone();
        async move {
            stopped(stop).await;
            info!("stopping");
            readiness.stop();
            tokio::time::sleep(LINGER).await;
        }
    };
    webhook::serve(webhooks, serving, webhook, lingering).await?;
    // The lease was given back long ago, unless the API server is away.
    let _ = election.await;
    read_again.abort();
    Ok(())
}

/// `0.0.0.0` stands for every address, IPv6 included where this machine has it: a cluster may have nothing else.
async fn listen(flag: &'static str, address: SocketAddr) -> Result<TcpListener, RunError> {
    if address.ip() == IpAddr::V4(Ipv4Addr::UNSPECIFIED)
        && let Ok(both) = listen_on_both(address.port())
    {
        return Ok(both);
    }
    TcpListener::bind(address).await.map_err(|source| RunError::Listen { flag, address, source })
}

/// One socket for both families, which only a machine with IPv6 has.
fn listen_on_both(port: u16) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_only_v6(false)?;
    // As the runtime does: connections of the last process may linger on the port.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
    socket.listen(1024)?;
    TcpListener::from_std(socket.into())
}

fn open_store(flags: &RunFlags) -> Result<Store, RunError> {
    let credentials =
        Credentials::Files { password: flags.redis_password_file.clone(), ca: flags.redis_ca_file.clone() };
    match Store::open_with(Some(&flags.redis_url), credentials, Arc::new(()), REPORTS_WITHIN) {
        Ok(Store::Memory(_)) => {
            Err(RunError::Store("memory: is inside one process; write redis://HOST:PORT/DB or rediss://…".to_owned()))
        }
        Ok(store) => Ok(store),
        Err(error) => {
            let text = error.to_string();
            Err(RunError::Store(text.strip_prefix("--store: ").unwrap_or(&text).to_owned()))
        }
    }
}

/// This replica's pod, and its name in the election: a pod that starts again under its old name is somebody else.
fn identity(pod_name: Option<&str>) -> (String, String) {
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let pod = pod_name.map_or_else(host, str::to_owned);
    let random = RandomState::new().hash_one(std::process::id());
    let identity = format!("{pod}_{random:016x}");
    (pod, identity)
}

/// Says true once SIGTERM or SIGINT came.
fn stop_signal() -> Result<watch::Receiver<bool>, RunError> {
    let refused = |error| RunError::System("listen for signals", error);
    let mut terminate = signal(SignalKind::terminate()).map_err(refused)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(refused)?;
    let (sender, stop) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        sender.send_replace(true);
        // Kept, so that whoever asks later hears it too.
        sender.closed().await;
    });
    Ok(stop)
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Hands on the files of the store's Secret when they change; files that can't be used leave what was good.
async fn read_again(source: Source, secret: watch::Sender<Arc<StoreSecret>>) {
    loop {
        tokio::time::sleep(READ_AGAIN).await;
        let source = source.clone();
        match tokio::task::spawn_blocking(move || source.read()).await {
            Ok(Ok(read)) => {
                let changed = secret.send_if_modified(|current| {
                    let changed = **current != read;
                    if changed {
                        *current = Arc::new(read);
                    }
                    changed
                });
                if changed {
                    info!("the store's credentials changed, handing them on");
                }
            }
            Ok(Err(error)) => warn!(%error, "the store's credentials can't be read, keeping the last good ones"),
            Err(_) => return,
        }
    }
}

/// What a leader works with.
struct Term {
    client: Client,
    store: Store,
    caches: Arc<Caches>,
    queue: Arc<Queue>,
    secret: watch::Receiver<Arc<StoreSecret>>,
    reporter: Reporter,
    metrics: Arc<Metrics>,
}

/// Works for as long as this replica leads, again and again.
async fn work_while_leading(
    mut lead: Lead,
    term: Term,
    certificates: CertificateSettings,
    serving: Arc<ServingCertificate>,
) {
    while lead.gained().await {
        let held = lead.clone();
        term.metrics.leads(true);
        // Dropped as a whole the moment another may lead, with all requests that are under way.
        tokio::select! {
            () = lead.lost() => {}
            () = term.work(held) => {}
            () = certificate::keep_ca_bundle(term.client.clone(), certificates.clone(), serving.clone()) => {}
        }
        term.metrics.leads(false);
    }
}

impl Term {
    async fn work(&self, lead: Lead) {
        // What has not been listed would look as if it weren't there.
        while !self.caches.not_synced().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let reachable = async {
            while self.store.ping().await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        if tokio::time::timeout(STORE_WITHIN, reachable).await.is_err() {
            warn!(status = ?self.store.status(), "the store does not answer; policies are handed out all the same");
        }
        let caches = (self.caches.clone(), self.queue.clone());
        let (reporter, metrics) = (self.reporter.clone(), self.metrics.clone());
        Controller::new(self.client.clone(), self.store.clone(), lead, caches, self.secret.clone(), reporter, metrics)
            .run()
            .await;
    }
}

fn admin(readiness: &Arc<Readiness>, metrics: &Arc<Metrics>) -> Admin {
    let (for_missing, for_metrics, metrics) = (readiness.clone(), readiness.clone(), metrics.clone());
    Admin {
        missing: Box::new(move || for_missing.missing()),
        metrics: Box::new(move || {
            metrics.pods(for_metrics.caches.pod_counts());
            if let Some(expires) = for_metrics.serving.expires() {
                metrics.certificate_expires(expires);
            }
            metrics.encode()
        }),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

    use super::*;
    use crate::cli::{Cli, Command};

    /// A Redis that takes 300 ms to answer anything but PING.
    async fn slow_redis(listener: TcpListener) {
        let (stream, _) = listener.accept().await.unwrap();
        let mut lines = BufReader::new(stream).lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            let reply = match line.as_str() {
                "PING" => "+PONG\r\n",
                "MGET" => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    "*1\r\n$-1\r\n"
                }
                // Lengths, and the keys.
                _ => continue,
            };
            lines.get_mut().write_all(reply.as_bytes()).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_slow_redis_is_not_taken_for_one_that_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("redis://{}", listener.local_addr().unwrap());
        let redis = tokio::spawn(slow_redis(listener));
        let flags =
            ["run", "--namespace=weir-system", "--sidecar-image=a", "--install-key-file=k", "--redis-url", &url];
        let Cli { command: Command::Run(flags) } =
            Cli::try_parse_from([&["weir-operator"], &flags[..]].concat()).unwrap();
        let store = open_store(&flags).unwrap();
        while store.ping().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let reports = store.heartbeats(&weir_store::Namespace::new("shop").unwrap(), &["pod"]).await;
        assert!(reports.as_ref().is_ok_and(Vec::is_empty), "{reports:?}");
        redis.abort();
    }

    #[tokio::test]
    async fn all_addresses_are_those_of_ipv6_too() {
        let listener = listen("--admin", "0.0.0.0:0".parse().unwrap()).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            match tokio::net::TcpStream::connect((host, port)).await {
                Ok(_) => {}
                // This machine has no IPv6.
                Err(error) if host.is_ipv6() && error.kind() != std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => panic!("{host}: {error}"),
            }
        }
        let taken = listen("--admin", SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).await.unwrap_err().to_string();
        assert!(taken.starts_with("--admin 0.0.0.0:"), "{taken}");
    }

    #[test]
    fn a_pod_that_starts_again_is_somebody_else_in_the_election() {
        let (first, second) = (identity(Some("weir-operator-1")), identity(Some("weir-operator-1")));
        assert_eq!(first.0, second.0);
        assert_ne!(first.1, second.1);
        assert_eq!(first.1.split('_').next(), Some("weir-operator-1"));
    }
}
