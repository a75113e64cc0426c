//! Rules about the workspace as a whole. What needs a cluster is in `../cluster`.
mod layering;
