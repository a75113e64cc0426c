//! One binary: hand-worked histories, laws on the model, and the scripts on a real redis-server that each test starts
//! for itself.

mod concurrency;
mod histories;
mod laws;
mod parity;
mod script;
mod server;
mod states;
mod vectors;
