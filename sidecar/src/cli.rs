//! The command line: what each flag means and what would be right when one is wrong. It opens nothing and reads no file.
mod duration;
pub mod listen;
pub mod proxy_flags;
pub mod run_flags;
#[cfg(test)]
mod tests;

use clap::{Args, Parser, Subcommand};
pub use run_flags::RunFlags;
use std::net::SocketAddr;

/// Where the local half of the admin interface listens unless told otherwise.
pub const ADMIN_LOCAL: &str = "127.0.0.1:15021";

/// `weir-sidecar`.
#[derive(Debug, Parser)]
#[command(
    name = "weir-sidecar",
    version,
    about = "Rate limits the HTTP requests of one application",
    long_about = "Stands in front of one application as a reverse proxy, admits or refuses each request by RateLimitPolicy \
                  documents, and counts in memory or, together with other sidecars, in Redis.",
    after_help = "Try it without a cluster:\n  weir-sidecar run --policy crds/examples/quickstart.yaml \\\n    --listen 127.0.0.1:8080 --upstream 127.0.0.1:9000\n  curl -i http://127.0.0.1:8080/",
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve: forward requests to the application and enforce the policies
    Run(Box<RunFlags>),
    /// Write the rules that bring a pod's connections to the sidecar, then exit (needs NET_ADMIN and the program nft)
    Redirect(RedirectFlags),
    /// Tell the sidecar in this pod that the pod is going away, then exit at once (a preStop hook)
    Drain(DrainFlags),
}

/// Flags of `redirect`.
#[derive(Debug, Args)]
pub struct RedirectFlags {
    /// The application's ports whose incoming connections go to the sidecar, as 8080,9000
    #[arg(long, env = "WEIR_PORTS", required = true, value_delimiter = ',', value_parser = listen::port, value_name = "PORT,…")]
    pub ports: Vec<u16>,
    /// The sidecar's port that takes them
    #[arg(long, env = "WEIR_TO", value_parser = listen::port, value_name = "PORT")]
    pub to: u16,
    /// Print the rules instead of applying them
    #[arg(long, env = "WEIR_PRINT")]
    pub print: bool,
}

/// Flags of `drain`.
#[derive(Debug, Args)]
pub struct DrainFlags {
    /// Where `run` has its local admin interface
    #[arg(long, env = "WEIR_ADMIN_LOCAL", default_value = ADMIN_LOCAL, value_parser = listen::local_address, value_name = "ADDR")]
    pub admin_local: SocketAddr,
}
