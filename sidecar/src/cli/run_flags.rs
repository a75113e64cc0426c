//! The flags of `weir-sidecar run`.
use super::duration::duration;
use super::listen::{self, Destination, Route};
use super::proxy_flags::ProxyFlags;
use crate::log::{LogFormat, LogLevels};
use clap::Args;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Flags of `run`; each can also be given in the environment.
#[derive(Debug, Args)]
pub struct RunFlags {
    /// Policies: a file of RateLimitPolicy documents as for `kubectl apply`, or the folder that Kubernetes mounts. Changes
    /// are picked up without a restart
    #[arg(long, env = "WEIR_POLICY", value_name = "PATH", help_heading = "Traffic")]
    pub policy: PathBuf,
    /// Listen for clients here, as 127.0.0.1:8080; 0.0.0.0 means every address, IPv6 included
    #[arg(long, env = "WEIR_LISTEN", value_name = "IP:PORT", value_parser = listen::address, requires = "upstream", help_heading = "Traffic")]
    pub listen: Option<SocketAddr>,
    /// The application behind --listen, as 127.0.0.1:9000, or `original` for the destination each connection had
    #[arg(long, env = "WEIR_UPSTREAM", value_name = "HOST:PORT", value_parser = listen::destination, requires = "listen", help_heading = "Traffic")]
    pub upstream: Option<Destination>,
    /// One more listener and its application, as 0.0.0.0:8081=127.0.0.1:9001; may be repeated
    #[arg(long = "route", env = "WEIR_ROUTE", value_name = "LISTEN=UPSTREAM", value_delimiter = ',', value_parser = listen::route, help_heading = "Traffic")]
    pub routes: Vec<Route>,
    /// With `original`: the only ports whose connections are taken; others are reset
    #[arg(long, env = "WEIR_CAPTURED_PORTS", value_name = "PORT,…", value_delimiter = ',', value_parser = listen::port, help_heading = "Traffic")]
    pub captured_ports: Vec<u16>,
    /// Ports that speak TLS: passed through as they are, not limited (with `original` the application's ports, else the
    /// listening ones)
    #[arg(long, env = "WEIR_TLS_PORTS", value_name = "PORT,…", value_delimiter = ',', value_parser = listen::port, help_heading = "Traffic")]
    pub tls_ports: Vec<u16>,

    /// Where to count: memory: (this sidecar alone) or redis://HOST:PORT/DB, rediss://… with TLS (all sidecars together).
    /// Default: what --store-secret says, else memory:
    #[arg(long, env = "WEIR_STORE", hide_env_values = true, value_name = "URL", help_heading = "Counting")]
    pub store: Option<String>,
    /// Folder with the store's credentials, one file each: url, user, password, ca.crt, install-key (a mounted Secret)
    #[arg(long, env = "WEIR_STORE_SECRET", value_name = "DIR", help_heading = "Counting")]
    pub store_secret: Option<PathBuf>,
    /// The namespace whose policies are enforced and under whose name requests are counted. Default: that of each policy
    #[arg(long, env = "WEIR_NAMESPACE", value_name = "NAME", help_heading = "Counting")]
    pub namespace: Option<String>,
    /// Labels of this workload, which a policy's selector is held against, as app=shop,tier=web
    #[arg(long, env = "WEIR_LABELS", value_name = "K=V,…", value_parser = labels, conflicts_with = "labels_file", help_heading = "Counting")]
    pub labels: Option<Labels>,
    /// The same from a file in the format of Kubernetes' downward API, one key="value" a line
    #[arg(long, env = "WEIR_LABELS_FILE", value_name = "FILE", help_heading = "Counting")]
    pub labels_file: Option<PathBuf>,

    /// Health, metrics and probes here, as 0.0.0.0:15020. Default: none
    #[arg(long, env = "WEIR_ADMIN", value_name = "IP:PORT", value_parser = listen::address, help_heading = "Admin")]
    pub admin: Option<SocketAddr>,
    /// What shows and changes the sidecar (/policy, /drain, /log-level), on loopback only, as 127.0.0.1:15021. Default: none
    #[arg(long, env = "WEIR_ADMIN_LOCAL", value_name = "IP:PORT", value_parser = listen::local_address, help_heading = "Admin")]
    pub admin_local: Option<SocketAddr>,
    /// The application's own probes, which /probe/<container>/<kind> runs, as JSON (the injector writes it)
    #[arg(long, env = "WEIR_PROBES", value_name = "JSON", hide_short_help = true, help_heading = "Admin")]
    pub probes: Option<String>,
    /// The pod's address, which probes go to. Default: 127.0.0.1
    #[arg(long, env = "WEIR_POD_IP", value_name = "IP", hide_short_help = true, help_heading = "Admin")]
    pub pod_ip: Option<std::net::IpAddr>,
    /// The pod's name, shown by /policy
    #[arg(long, env = "WEIR_POD_NAME", value_name = "NAME", hide_short_help = true, help_heading = "Admin")]
    pub pod_name: Option<String>,
    /// The pod's uid; with it this sidecar reports to the store which policies it enforces
    #[arg(long, env = "WEIR_POD_UID", value_name = "UID", hide_short_help = true, help_heading = "Admin")]
    pub pod_uid: Option<String>,

    /// How long requests in flight may take to end after SIGTERM, as 25s
    #[arg(long, env = "WEIR_DRAIN_GRACE", value_name = "TIME", default_value = "25s", value_parser = duration, help_heading = "Process")]
    pub drain_grace: Duration,
    /// Threads that serve requests, 1 to 64. Default: the number of cores, at most 2
    #[arg(long, env = "WEIR_THREADS", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64), help_heading = "Process")]
    pub threads: Option<u16>,
    /// What to log: error, warn, info, debug, trace or off, also by module, as info,weir_sidecar=debug
    #[arg(long, env = "WEIR_LOG_LEVEL", value_name = "LEVEL", default_value = "info", help_heading = "Process")]
    pub log_level: LogLevels,
    /// How to log, on standard error
    #[arg(
        long,
        env = "WEIR_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "text",
        value_enum,
        help_heading = "Process"
    )]
    pub log_format: LogFormat,

    /// What the sidecar allows itself and its clients.
    #[command(flatten)]
    pub bounds: ProxyFlags,
}

/// Labels of a workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

impl RunFlags {
    /// All routes in the order given, `--listen` first.
    ///
    /// # Errors
    /// When there is none, or two listen on one address.
    pub fn all_routes(&self) -> Result<Vec<Route>, String> {
        let mut routes = Vec::new();
        if let (Some(listen), Some(destination)) = (self.listen, self.upstream.clone()) {
            routes.push(Route { listen, destination });
        }
        routes.extend(self.routes.iter().cloned());
        if routes.is_empty() {
            return Err(
                "nothing to listen on: give --listen IP:PORT with --upstream HOST:PORT, or --route LISTEN=UPSTREAM"
                    .into(),
            );
        }
        if self.captured_ports.is_empty() && routes.iter().any(|route| route.destination == Destination::Original) {
            return Err("`original` takes connections to the application's ports only: name them, as --captured-ports 8080,9000".into());
        }
        let mut taken = Vec::new();
        for listen in routes.iter().map(|route| route.listen).chain(self.admin).chain(self.admin_local) {
            if listen.port() != 0 && taken.contains(&listen) {
                return Err(format!("{listen} is given twice among --listen, --route, --admin and --admin-local"));
            }
            taken.push(listen);
        }
        Ok(routes)
    }
}

fn labels(text: &str) -> Result<Labels, String> {
    let mut labels = BTreeMap::new();
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((key, value)) if !key.is_empty() => labels.insert(key.to_owned(), value.to_owned()),
            _ => return Err(format!("`{pair}` is not KEY=VALUE; write labels as app=shop,tier=web")),
        };
    }
    Ok(Labels(labels))
}
