//! What is shown and taken as JSON, with the schema that the document tells of it. The contents come
//! from the desk; here they only get names, units and words.

mod accepted;
mod config;
mod decision;
mod decisions;
mod explanation;
mod job;
mod moment;
mod new_job;
mod operation;
mod predictions;
mod run;
mod status;
mod words;
mod worker;

pub(super) use accepted::{Accepted, Done, SubmissionResult};
pub(super) use config::LiveConfig;
pub(super) use decisions::DecisionPage;
pub(super) use explanation::Explanation;
pub(super) use job::{Job, JobPage};
pub(super) use moment::{micros_of, moment, seconds};
pub(super) use new_job::{Name, NewJob, NewRun, NewSubmission};
pub(super) use operation::{OperationView, Operations};
pub(super) use predictions::{Predictions, ShadowReport};
pub(super) use run::{RunWithJobs, Runs};
pub(super) use status::Status;
pub(super) use words::{JobState, ended_states, retryable_states};
pub(super) use worker::{Worker, Workers};
