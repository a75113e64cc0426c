//! The sidecar as a process between real sockets: what its users and Kubernetes see of it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed unwrap is a failed test, in its helpers too"
)]
mod admin;
mod app;
mod client;
mod decisions;
mod draining;
mod examples;
mod flags;
mod layers;
mod policies;
mod proxy;
mod quickstart;
mod redirect;
mod redis;
mod reload_file;
mod reload_folder;
mod responses;
mod shadows;
mod sidecar;
mod store_faults;
mod two_sidecars;
mod waiting;
