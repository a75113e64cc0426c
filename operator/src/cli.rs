//! The command line: what each flag means and what would be right when one is wrong. It opens nothing and reads no file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

use crate::inject::CaptureMode;
use crate::log::{LogFormat, LogLevels};

/// `weir-operator`.
#[derive(Debug, Parser)]
#[command(
    name = "weir-operator",
    version,
    about = "Keeps the rate limits of a Kubernetes cluster in force",
    long_about = "Compiles the RateLimitPolicies of each namespace into a ConfigMap for its sidecars, reports in each policy's \
                  status on how many pods it is in force, and injects the sidecar into pods that ask for it. Run by the Helm \
                  chart, in two replicas: one leads, both answer webhooks.",
    after_help = "Against the cluster of a kubeconfig, without the chart:\n  KUBECONFIG=… weir-operator run \
                  --sidecar-image registry.example/weir-sidecar:1 --redis-url redis://127.0.0.1:6379/0 \
                  --install-key-file ./install-key",
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
    /// Watch policies, pods and namespaces, and answer webhooks, until SIGTERM
    Run(Box<RunFlags>),
}

/// Flags of `run`; each can also be given in the environment.
#[derive(Clone, Debug, Args)]
pub struct RunFlags {
    /// The namespace the operator runs in: of its lease, its Service and the Secret with its certificate
    #[arg(long, env = "WEIR_NAMESPACE", value_name = "NAME", default_value = "weir-system", value_parser = dns_label)]
    pub namespace: String,
    /// Name of the Lease by which replicas agree on who leads
    #[arg(long, env = "WEIR_LEASE", value_name = "NAME", default_value = "weir-operator", value_parser = dns_label)]
    pub lease: String,
    /// This replica's name, shown in the lease and in events. Default: the host's name, which in a pod is the pod's
    #[arg(long, env = "WEIR_POD_NAME", value_name = "NAME")]
    pub pod_name: Option<String>,

    /// Image of the sidecar, as pods will pull it
    #[arg(long, env = "WEIR_SIDECAR_IMAGE", value_name = "IMAGE", value_parser = image, help_heading = "Injection")]
    pub sidecar_image: String,
    /// Pull policy of that image: Always, IfNotPresent or Never. Default: Kubernetes' own, by the image's tag
    #[arg(long, env = "WEIR_SIDECAR_IMAGE_PULL_POLICY", value_name = "POLICY", value_parser = ["Always", "IfNotPresent", "Never"], help_heading = "Injection")]
    pub sidecar_image_pull_policy: Option<String>,
    /// How traffic reaches the sidecar where a pod doesn't say: auto, redirect or named-port
    #[arg(long, env = "WEIR_CAPTURE", value_name = "MODE", default_value = "auto", value_parser = capture, help_heading = "Injection")]
    pub capture: CaptureMode,

    /// Where sidecars count, as redis://weir-redis.weir-system.svc:6379/0 or rediss://… with TLS: the operator reads the
    /// sidecars' reports there, and gives the address to them
    #[arg(long, env = "WEIR_REDIS_URL", value_name = "URL", help_heading = "Store")]
    pub redis_url: String,
    /// File with the password of that Redis. Default: none
    #[arg(long, env = "WEIR_REDIS_PASSWORD_FILE", value_name = "FILE", help_heading = "Store")]
    pub redis_password_file: Option<PathBuf>,
    /// File with the CAs (PEM) that its certificate is held against. Default: the system's
    #[arg(long, env = "WEIR_REDIS_CA_FILE", value_name = "FILE", help_heading = "Store")]
    pub redis_ca_file: Option<PathBuf>,
    /// File with the install key, the base64 of 32 random bytes, which must stay the same as long as counters are to be
    /// kept: `head -c 32 /dev/urandom | base64`
    #[arg(long, env = "WEIR_INSTALL_KEY_FILE", value_name = "FILE", help_heading = "Store")]
    pub install_key_file: PathBuf,

    /// Webhooks (HTTPS) here
    #[arg(long, env = "WEIR_WEBHOOK_LISTEN", value_name = "IP:PORT", default_value = "0.0.0.0:9443", value_parser = address, help_heading = "Webhooks")]
    pub webhook_listen: SocketAddr,
    /// Name of the Service by which the API server reaches the webhooks
    #[arg(long, env = "WEIR_WEBHOOK_SERVICE", value_name = "NAME", default_value = "weir-operator", value_parser = dns_label, help_heading = "Webhooks")]
    pub webhook_service: String,
    /// Name of the MutatingWebhookConfiguration that the CA is written into
    #[arg(
        long,
        env = "WEIR_MUTATING_WEBHOOK",
        value_name = "NAME",
        default_value = "weir-injector",
        help_heading = "Webhooks"
    )]
    pub mutating_webhook: String,
    /// Name of the ValidatingWebhookConfiguration that the CA is written into
    #[arg(
        long,
        env = "WEIR_VALIDATING_WEBHOOK",
        value_name = "NAME",
        default_value = "weir-policies",
        help_heading = "Webhooks"
    )]
    pub validating_webhook: String,
    /// Name of the Secret that holds the webhooks' CA and certificate; made if it is absent
    #[arg(
        long,
        env = "WEIR_CA_SECRET",
        value_name = "NAME",
        default_value = "weir-webhook-ca",
        help_heading = "Webhooks"
    )]
    pub ca_secret: String,

    /// Health and metrics here: /live, /ready, /metrics
    #[arg(long, env = "WEIR_ADMIN", value_name = "IP:PORT", default_value = "0.0.0.0:9090", value_parser = address, help_heading = "Process")]
    pub admin: SocketAddr,
    /// What to log: error, warn, info, debug, trace or off, also by module, as info,weir_operator=debug
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
}

fn address(text: &str) -> Result<SocketAddr, String> {
    SocketAddr::from_str(text)
        .map_err(|_| format!("`{text}` is not an address; write IP:PORT, as 0.0.0.0:9443 or [::]:9443"))
}

fn capture(text: &str) -> Result<CaptureMode, String> {
    CaptureMode::parse(text)
        .ok_or_else(|| format!("`{text}` is not a way to capture; write auto, redirect or named-port"))
}

fn image(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err("must be an image's full name, as registry.example/weir-sidecar:1.0".to_owned());
    }
    Ok(text.to_owned())
}

fn dns_label(text: &str) -> Result<String, String> {
    match weir_store::Namespace::new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!("`{text}` is not a name; write lower-case letters, digits and '-', at most 63")),
    }
}

#[cfg(test)]
mod tests;
