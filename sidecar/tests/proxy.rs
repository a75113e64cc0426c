//! The data path alone, between raw sockets: what a client and an application see on the wire of a proxy that stands
//! between them, with a gate that does what the request asks it to.
mod application;
mod bodies;
mod closing;
mod draining;
mod fixture;
mod forwarding;
mod heads;
mod http2;
mod passthrough;
mod raw;
mod tunnels;
mod waiting;
