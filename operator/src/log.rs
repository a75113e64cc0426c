//! Logging: text or JSON on standard error.

use std::io::IsTerminal;
use std::str::FromStr;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged: a level for all, or for single modules.
#[derive(Clone, Debug)]
pub struct LogLevels(Targets);

const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

impl FromStr for LogLevels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let known = text.split(',').all(|part| {
            let level = part.rsplit_once('=').map_or(part, |(_, level)| level);
            LEVELS.contains(&level.to_ascii_lowercase().as_str())
        });
        match Targets::from_str(text) {
            // Each failed watch is logged by whoever began it; the library's own line would be the second one.
            Ok(targets) if known && !text.contains("kube_runtime") => {
                Ok(Self(targets.with_target("kube_runtime::watcher", LevelFilter::ERROR)))
            }
            Ok(targets) if known => Ok(Self(targets)),
            _ => Err(format!(
                "`{text}` is not a log level; write one of {}, or by module as info,weir_operator=debug",
                LEVELS.join(", ")
            )),
        }
    }
}

/// Starts logging for the whole process; once.
pub(crate) fn start(format: LogFormat, levels: &LogLevels) -> Result<(), TryInitError> {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(levels.0.clone())).try_init()
}
