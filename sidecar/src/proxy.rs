//! From an accepted connection to the application and back: what is spoken on the wire, and nothing about limits, which
//! are a [`Gate`]'s.
pub mod gate;

pub use gate::{Gate, LimitHeaders, Numbers, Ruling};
