//! gRPC: parsing what comes, turning answers into messages and refusals into statuses.

mod events;
mod job_view;
mod jobs;
mod service;
mod status;
mod status_view;
mod submit;
mod wait;
mod worker_link;

pub(crate) use job_view::state_to_wire;
pub(crate) use service::SchedulerService;
pub(crate) use submit::JobIds;
pub(crate) use worker_link::WorkerLinkService;
