//! The program `weir-sidecar`; all of it is in the library.
use std::process::ExitCode;

fn main() -> ExitCode {
    weir_sidecar::run::program()
}
