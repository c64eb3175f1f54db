//! What anybody might send, by the million: every parser of what comes from outside is given inputs
//! that are nearly right, and must neither panic nor take more time or memory than it is due.
//!
//! An input is made from the corpus by mutations that know what they change: values of JSON are
//! swapped, fields of protobuf are doubled, and so on. The seed and the input's number say which, so
//! that whatever is found can be had again.
//!
//! Deliberately absent: coverage feedback and a compiler of its own. `cargo xtask fuzz` runs it, and a
//! short round is an ordinary test.

pub mod memory;
mod mutate;
mod random;
pub mod round;
mod seeds;
pub mod targets;
