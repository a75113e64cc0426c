//! The rate limiting algorithms of Weir: each Lua script beside its pure Rust model.
//!
//! This package holds no IO and reads no clock. A store hands in the instant, the checks and what each key holds
//! ([`decide`], for a store in memory), or sends a packed [`Batch`] with [`decide_script`] to Redis and reads the
//! reply back. Both ways give the same [`Decision`]; the tests hold them to it on every field.
//!
//! ```text
//! Quota (N per P) ─► Limit (algorithm, capacity) ─► Check (key, limit, cost) ─┬─► decide ───────────────► Decision
//!                                                                             └─► Batch ─► decide.lua ─► read_reply
//! ```
//!
//! ```
//! use std::time::Duration;
//! use weir_limiter::{Limit, Quota, Timestamp, Verdict, decide};
//!
//! let limit = Limit::fixed_window(Quota::new(2, Duration::from_secs(60))?);
//! let (now, mut state) = (Timestamp::from_micros(0), [None]);
//! assert_eq!(decide(now, &[(limit, 1)], &mut state).outcomes[0].remaining, 1);
//! assert_eq!(decide(now, &[(limit, 1)], &mut state).outcomes[0].remaining, 0);
//! let refused = decide(now, &[(limit, 1)], &mut state);
//! assert!(!refused.admitted);
//! assert_eq!(refused.outcomes[0].verdict, Verdict::Wait(Duration::from_secs(60)));
//! # Ok::<(), weir_limiter::InvalidQuota>(())
//! ```

mod answer;
mod batch;
mod bucket;
mod decision;
mod exact;
mod fixed_window;
mod key_table;
mod limit;
pub mod model;
mod packed;
mod quota;
mod receipt;
mod reply;
mod script;
mod sliding_log;
mod sliding_window;
mod slowdown;
mod time;
mod trial;

pub use batch::{Batch, test_clock};
pub use decision::{Check, Decision, Outcome, Verdict};
pub use limit::{Algorithm, InvalidLimit, Limit};
pub use model::{State, decide, decide_shared, refund};
pub use quota::{InvalidQuota, Quota};
pub use receipt::Receipt;
pub use reply::{InvalidReply, Reply};
pub use script::decide_script;
pub use slowdown::{InvalidSlowdown, Slowdown};
pub use time::Timestamp;
