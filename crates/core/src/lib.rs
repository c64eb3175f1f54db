//! The scheduler itself: a deterministic state machine.
//!
//! [`Engine`] is the only door. Commands go in with the time; events come out to be made durable;
//! effects come out once they are. The same commands at the same times give the same events, and
//! the events alone give the same state.
//!
//! Deliberately absent: I/O, clocks, randomness, threads, async, and any order that depends on
//! hashing. Whoever needs one of these is an edge and lives in another crate.

pub mod command;
pub mod effect;
pub mod event;
pub mod model;
pub mod place;
pub mod rejection;

pub use command::{Answer, Command, Report, Throttle};
pub use effect::{Effect, Offer};
pub use event::{Decision, Entry, Event, Reason};
pub use rejection::Rejection;
