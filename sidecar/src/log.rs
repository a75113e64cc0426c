//! Logging: text or JSON on standard error, and a level that can be changed while the sidecar runs.
pub mod sampler;

use std::io::IsTerminal;
use std::str::FromStr;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};
use tracing_subscriber::{Layer, Registry, reload};

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

/// Changes what is logged.
#[derive(Clone, Debug)]
pub struct LogControl(reload::Handle<Targets, Registry>);

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
            Ok(targets) if known => Ok(Self(targets)),
            _ => Err(format!(
                "`{text}` is not a log level; write one of {}, or by module as info,weir_sidecar=debug",
                LEVELS.join(", ")
            )),
        }
    }
}

impl LogControl {
    /// From now on logs by `levels`.
    ///
    /// # Errors
    /// When logging was never set up.
    pub fn set(&self, levels: &LogLevels) -> Result<(), String> {
        self.0.reload(levels.0.clone()).map_err(|error| error.to_string())
    }

    /// A control that no log follows, for tests that run a sidecar inside their own process.
    #[must_use]
    pub fn detached() -> Self {
        Self(reload::Layer::new(Targets::new()).1)
    }
}

/// Starts logging for the whole process; once.
///
/// # Errors
/// When logging has been started before.
pub fn start(format: LogFormat, levels: &LogLevels) -> Result<LogControl, TryInitError> {
    let (filter, handle) = reload::Layer::new(levels.0.clone());
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    let lines = match format {
        // for people the module says little; machines get it
        LogFormat::Text => lines.with_target(false).with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).with_span_list(false).boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(filter)).try_init()?;
    Ok(LogControl(handle))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_may_stand_alone_or_by_module() {
        for good in ["info", "off", "WARN", "info,weir_sidecar=debug"] {
            assert!(good.parse::<LogLevels>().is_ok(), "{good}");
        }
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_with_the_list() {
        for bad in ["", "loud", "info,weir_sidecar=loud"] {
            let error = bad.parse::<LogLevels>().unwrap_err();
            assert!(error.contains("error, warn, info, debug, trace, off"), "{error}");
        }
    }
}
