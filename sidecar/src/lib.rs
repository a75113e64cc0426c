//! The sidecar: a reverse proxy beside one application that admits or refuses each request by the policies of its
//! namespace. This package decides nothing about algorithms (weir-limiter), matching (weir-policy) or counting
//! (weir-store); it brings them to HTTP connections and to a process.
pub mod admin;
pub mod cli;
pub mod clock;
pub mod drain;
pub mod enforce;
pub mod log;
pub mod metrics;
pub mod probe;
pub mod proxy;
pub mod redirect;
pub mod reload;
pub mod report;
pub mod run;
