//! The sidecar: a reverse proxy beside one application that admits or refuses each request by the policies of its
//! namespace. This package decides nothing about algorithms (weir-limiter), matching (weir-policy) or counting
//! (weir-store); it brings them to HTTP connections and to a process.
pub mod clock;
pub mod drain;
pub mod proxy;
