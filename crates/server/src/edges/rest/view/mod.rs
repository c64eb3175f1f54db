//! What only REST shows and takes as JSON, with the schema that the document tells of it. All else has
//! its form from `bellwether_wire::json`.

mod accepted;
mod new_job;
mod operation;
mod run;

pub(super) use accepted::{Accepted, Done, SubmissionResult};
pub(super) use new_job::{Name, NewJob, NewRun, NewSubmission};
pub(super) use operation::{OperationView, Operations};
pub(super) use run::{RunWithJobs, Runs};
