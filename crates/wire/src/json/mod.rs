//! Jobs as people write them, and events as they read them.
//!
//! A job is an object with the fields of [`job::FIELDS`]; a run is an object with `jobs`. Spans are
//! seconds. An unknown field is an error that names the nearest known one.

pub mod cloud_event;
pub mod dispatch;
pub mod event;
pub mod explain;
mod field;
pub mod job;
pub mod run;
pub mod worker_message;

pub use cloud_event::{CloudEvent, cloud_events};
pub use event::event_to_json;
pub use job::{job_from_json, job_spec_to_json};
pub use run::{ReadError, run_from_json, submission_from_json, submissions};
pub use worker_message::{Said, SaidError, worker_message_from_json};
