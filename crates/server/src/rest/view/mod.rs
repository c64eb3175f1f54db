//! What is shown and taken as JSON, with the schema that the document tells of it. The contents come
//! from the desk; here they only get names, units and words.

mod accepted;
mod decision;
mod job;
mod moment;
mod new_job;
mod status;
mod words;

pub(super) use accepted::{Accepted, Done, SubmissionResult};
pub(super) use job::{Job, JobPage};
pub(super) use moment::{micros_of, moment, seconds};
pub(super) use new_job::{Name, NewJob, NewRun, NewSubmission};
pub(super) use status::Status;
pub(super) use words::JobState;
