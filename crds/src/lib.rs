//! The Kubernetes face of a policy: the resource RateLimitPolicy, its status, the words of its conditions, and the
//! CustomResourceDefinition that is generated from them. What a spec means is weir-policy's; who writes a status is the
//! operator's.

mod definition;
mod resource;
mod status;

pub use definition::{CRD_NAME, crd, crd_yaml};
pub use resource::{PolicySpec, RateLimitPolicy};
pub use status::{RateLimitPolicyStatus, condition, reason};
