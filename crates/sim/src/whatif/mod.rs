//! A recorded journal under another policy or on another fleet.
//!
//! The jobs arrive when they arrived, depend on what they depended on, and take what they took,
//! scaled by how fast the workers proved to be. Jobs that did not complete are left out, and the
//! workers are taken to be there all the time.
//!
//! Deliberately absent: failures and retries. What is compared is placement.

mod compare;
mod recording;
mod speeds;

pub use compare::{Change, Column, Figures, Report, what_if};
pub use recording::{LeftOut, Recording, RecordingError};
