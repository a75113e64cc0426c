//! The program: reads the command line and runs. Not here: anything that decides.

use std::process::ExitCode;

use clap::Parser;
use weir_operator::cli::{Cli, Command};

fn main() -> ExitCode {
    let Command::Run(flags) = Cli::parse().command;
    match weir_operator::run::run(*flags) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("weir-operator: {error}");
            ExitCode::FAILURE
        }
    }
}
