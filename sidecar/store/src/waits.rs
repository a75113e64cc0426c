//! How long anything may take.

use std::time::Duration;

/// The bounds on waiting; the defaults are what the product promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    /// A decision, or any other call: 50 ms.
    pub call: Duration,
    /// An attempt to connect, from the name to the first PONG: 500 ms, so that limits hold again within 2 s of
    /// Redis being back.
    pub connect: Duration,
}

impl Default for Waits {
    fn default() -> Self {
        Self { call: Duration::from_millis(50), connect: Duration::from_millis(500) }
    }
}
