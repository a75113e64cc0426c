//! Where limits are counted: in memory, or in Redis.
//!
//! [`Store::decide`] takes the checks of one request and answers with one decision, all or nothing. What a
//! failure means for the request is the caller's: a failure is an error with a fixed name ([`Reason`]).

mod address;
mod breaker;
mod clock;
mod connection;
mod credentials;
mod gate;
mod heartbeat;
mod job;
mod key;
mod memory;
mod observer;
mod reason;
mod redis_store;
mod refunds;
mod store;
mod tls;
mod waits;
mod worker;

pub use address::InvalidStore;
pub use breaker::BreakerState;
pub use credentials::Credentials;
pub use gate::StoreStatus;
pub use heartbeat::{HEARTBEAT_TTL_SECONDS, Heartbeat, PolicyReport, RejectedPolicy};
pub use key::{InstallKey, InvalidInstallKey, InvalidNamespace, Namespace, StateKey};
pub use memory::MemoryStore;
pub use observer::{Observer, Refunds};
pub use reason::{Reason, StoreError};
pub use redis_store::RedisStore;
pub use store::Store;
pub use waits::Waits;
