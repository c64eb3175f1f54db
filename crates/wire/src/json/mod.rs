//! What people write and read: the one JSON form, for REST, the command line, files, queues, events
//! and webhooks. The OpenAPI document is derived from the same types.
//!
//! A job is an object with the fields of the table [`job::FIELDS`]; a run is an object with `jobs`.
//! Spans are seconds, times are as 2027-01-31T08:00:00Z, and what is not known is left out. An unknown
//! field is an error that names the nearest known one.

pub mod array;
mod bounded;
pub mod checkpoint;
pub mod cloud_event;
pub mod code;
mod concurrency;
pub mod config;
pub mod decision;
pub mod dispatch;
mod documents;
pub mod event;
pub mod explanation;
mod fault;
mod field;
pub mod form;
pub mod handoff;
pub mod job;
pub mod job_view;
mod key_template;
mod legible;
mod nearest;
pub mod plan;
pub mod predictions;
pub mod reply;
pub mod run;
pub mod status;
pub mod template;
mod unique;
pub mod unit;
pub mod worker;
pub mod worker_message;
pub mod written;
mod yaml;

pub use cloud_event::{CloudEvent, EventId, cloud_events};
pub use code::Code;
pub use config::LiveConfig;
pub use decision::{Decision, DecisionPage, ExplainedDecision};
pub use documents::is_json;
pub use event::event_to_json;
pub use explanation::Explanation;
pub use fault::{fault, in_our_words};
pub use job::Draft;
pub use job_view::{Job, JobPage};
pub use key_template::expand_keys;
pub use legible::NESTING_MAX;
pub use nearest::nearest;
pub use plan::{Plan, Steps};
pub use predictions::{Predictions, ShadowReport};
pub use reply::{Reply, reply_from_json};
pub use run::{
    Context, ReadError, SubmissionDraft, job_from_json, listed_from_json, plan_from_json, plans,
    run_from_json, submission_from_json, submissions,
};
pub use status::Status;
pub use unique::Unique;
pub use worker::{Worker, Workers};
pub use worker_message::{Said, SaidError, worker_message_from_json};
pub use written::job_spec_to_json;
pub use yaml::from_yaml;

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
    text
}
