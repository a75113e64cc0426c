//! A RateLimitPolicy from what a user wrote to what runs.
//!
//! ```text
//! YAML or JSON ─► PolicyEntry ─ compile ─► Policy ─► RouteTable ─ lookup(request) ─► checks for the limiter
//!                 (spec: raw)     │                                                 (limit + identity of the key)
//!                                 └► Faults: all of them, each with its path
//! ```
//!
//! [`spec`] is what is written (and the schema of it), [`compile`] the only way from there to [`Policy`], [`RouteTable`] what
//! a request is held against. No IO beyond text, no clock, nothing of Kubernetes' libraries.

mod address;
mod client_address;
mod compile;
mod cookie;
mod cost;
mod document;
mod duration;
mod exemption;
mod fault;
mod field_match;
mod header_key;
mod host;
mod host_match;
mod identity;
mod key;
mod local_file;
mod method_match;
mod normal_path;
mod one_value;
mod path_match;
mod pattern;
mod policy;
mod query;
mod readings;
mod request_match;
mod response;
mod route_index;
mod route_table;
mod seen;
mod selector;
mod shape;
mod source;
pub mod spec;
mod tier;
mod yaml;

pub use compile::{compile, compile_spec};
pub use document::{PolicyDocument, PolicyEntry};
pub use fault::{Fault, Faults};
pub use identity::Identity;
pub use local_file::{API_VERSION, KIND, read_policies};
pub use policy::{Cost, CostSource, Enforcement, OnMissingKey, OnStoreFailure, Policy, PolicyId, PolicyLimit};
pub use response::{ExistingHeaders, ResetFormat, ResponseOptions, RetryAfterFormat};
pub use route_table::{
    Checks, LimitCheck, Lookup, Note, NoteKind, Rejection, RejectionReason, RequestView, RouteTable,
};
pub use selector::Selector;
pub use source::Source;
pub use spec::RateLimitPolicySpec;

/// The longest text that is read as a policy file or document, in bytes: what a ConfigMap can hold.
pub const MAX_TEXT: usize = 1024 * 1024;
