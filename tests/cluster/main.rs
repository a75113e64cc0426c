//! The whole product as a user runs it: a real API server, kubelet and Redis, the chart, and requests over the wire.
//! `tests/all` boots the cluster and passes what these tests need by environment (see `world`).
//!
//! Tests take turns, since several stop Redis or the operator; each leaves the cluster as it found it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can not go on has failed")]
mod app;
mod bad_input;
mod capture;
mod edits;
mod exactness;
mod lifecycle;
mod operator_faults;
mod probes;
mod status;
mod store_faults;
mod uninstall;
mod wait;
mod world;
