//! The operator: compiles the policies of each namespace into its ConfigMap, reports what became of each of them, and
//! injects the sidecar into pods. What a policy means is weir-policy's, how sidecars report is weir-store's.
//!
//! ```text
//! watches ─► caches ─► queue of namespaces ─► dereference → validate → build → apply → update status   (leader only)
//! webhooks: inject pods, check policies                                                                (every replica)
//! ```

pub mod admin;
pub mod certificate;
pub mod cli;
pub mod clock;
mod controller;
mod document;
mod events;
pub mod inject;
mod leader;
pub mod log;
pub mod metrics;
mod nudge;
mod readiness;
mod rollout;
pub mod run;
mod status;
mod store_secret;
pub mod webhook;
