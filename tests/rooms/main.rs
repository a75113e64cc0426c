//! What crosses rooms.
