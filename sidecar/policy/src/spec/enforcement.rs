//! Whether limits refuse or only count, as written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whether limits refuse or only count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Enforcement {
    /// Requests over the limit are refused, or wait.
    #[default]
    Enforce,
    /// Requests are counted, and what would have been refused is told in metrics only.
    Shadow,
}
