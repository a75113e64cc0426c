//! The stores as a caller sees them: one suite over memory and Redis, then Redis with faults.
//! Every server is the test's own, on a free port of 127.0.0.1.

// the helpers of tests may unwrap as the tests do: a failed unwrap is a failed test, with its line
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[macro_use]
mod every_store;

mod certificates;
mod faults;
mod heartbeats;
mod load;
mod network;
mod order;
mod refunds;
mod rules;
mod secret;
mod secrets;
mod server;
mod subject;
mod tls;
mod turns;
