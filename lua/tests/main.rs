//! One binary: hand-worked histories, laws on the model, and the scripts on a real redis-server that each test starts
//! for itself.

#![allow(clippy::expect_used, clippy::panic, reason = "a failed expectation is a failed test, with its line")]

mod coalesced;
mod concurrency;
mod histories;
mod laws;
mod parity;
mod refunds;
mod script;
mod server;
mod states;
mod vectors;
