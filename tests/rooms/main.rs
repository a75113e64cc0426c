//! Rules about the workspace as a whole. What needs a cluster is in `../cluster`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that can not go on has failed")]
mod command_lines;
mod layering;
