//! From a command line to a running process and back out of it. It wires the other modules and decides nothing itself.
mod files;
mod listener;
mod routes;
mod sidecar;
mod start;

use crate::cli::{Cli, Command, RedirectFlags, RunFlags};
use crate::{drain, log, redirect};
use clap::Parser;
use std::process::ExitCode;

/// Threads that serve, unless told otherwise: a sidecar is small beside its application.
const THREADS: usize = 2;
/// Threads for looking at files; they end again after a moment.
const BLOCKING_THREADS: usize = 4;

/// The whole program.
#[must_use]
pub fn program() -> ExitCode {
    let (ended, failure) = match Cli::parse().command {
        Command::Run(flags) => (run(*flags), 2),
        Command::Redirect(flags) => (redirect(&flags), 1),
        Command::Drain(flags) => (drain::tell::tell(flags.admin_local).map_err(|error| error.to_string()), 1),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("weir-sidecar: {reason}");
            ExitCode::from(failure)
        }
    }
}

fn redirect(flags: &RedirectFlags) -> Result<(), String> {
    let rules = redirect::rules(&flags.ports, flags.to).map_err(|error| error.to_string())?;
    if flags.print {
        print!("{rules}");
        return Ok(());
    }
    redirect::apply(&rules).map_err(|error| error.to_string())?;
    eprintln!("weir-sidecar: connections to {:?} now go to {}", flags.ports, flags.to);
    Ok(())
}

fn run(flags: RunFlags) -> Result<(), String> {
    let log = log::start(flags.log_format, &flags.log_level).map_err(|error| error.to_string())?;
    // several libraries bring TLS; they are to use this one
    let _ = rustls::crypto::ring::default_provider().install_default();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = flags.threads.map_or(cores.min(THREADS), usize::from);
    let mut runtime = match threads {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime
        .worker_threads(threads)
        .max_blocking_threads(BLOCKING_THREADS)
        .thread_keep_alive(std::time::Duration::from_secs(2))
        .thread_name("weir")
        .enable_all()
        .build()
        .map_err(|error| format!("can't start: {error}"))?;
    let ended = runtime.block_on(sidecar::run(flags, log));
    // what still waits on a file must not hold the end up
    runtime.shutdown_background();
    ended
}
