//! The two programs that stand on either side of a sidecar in demos and tests: an application that answers, and a client
//! that asks and counts. Not a test framework: every test still talks to real processes and real sockets.
pub mod echo;
pub mod load;
pub mod watch;
