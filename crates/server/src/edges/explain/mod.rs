//! Answers to "why": of jobs, of decisions, of predictions and of the policy itself. gRPC and REST
//! both render what comes from here.
//!
//! Deliberately absent: reasons of its own. What a waiting job waits for is the core's to say, and
//! what a decision rested on was recorded with it.

mod array;
mod attempts;
mod decisions;
mod job;
mod predictions;
mod refusals;
mod waiting;

pub(crate) use refusals::Refusals;
pub(crate) use waiting::reason_of;
