//! The scheduler itself: a deterministic state machine.
//!
//! [`Engine`] is the only door. Commands go in with the time; events come out to be made durable;
//! effects come out once they are. The same commands at the same times give the same events, and
//! the events alone give the same state.
//!
//! Deliberately absent: I/O, clocks, randomness, threads, async, and any order that depends on
//! hashing. Whoever needs one of these is an edge and lives in another crate.

mod apply;
pub mod command;
mod decide;
#[cfg(feature = "defects")]
pub mod defect;
pub mod effect;
pub mod engine;
pub mod event;
mod freeze;
mod index;
pub mod life;
mod listed;
pub mod model;
pub mod place;
pub mod rejection;
pub mod state;
pub mod verify;
pub mod why;
mod words;

pub use command::{Answer, Command, Report, Throttle};
#[cfg(feature = "defects")]
pub use defect::Defect;
pub use effect::{Effect, Offer};
pub use engine::{Engine, Handled};
pub use event::{Decision, Entry, Event, Reason};
pub use freeze::{Moment, Seen};
pub use index::groups::{Lack, handlers_of};
pub use life::{AttemptChange, AttemptEnd, Counts, Moved, Transition};
pub use rejection::Rejection;
pub use state::{Job, JobState, Run, State, Worker};
pub use why::Why;
pub use words::{Word, counted};
