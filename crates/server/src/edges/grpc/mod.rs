//! gRPC: parsing what comes, turning answers into messages and refusals into statuses.

mod backup;
mod members;
mod service;
mod status;
mod submit;
mod wait;
mod worker_link;

pub(crate) use members::MembersService;
pub(crate) use service::SchedulerService;
pub(crate) use worker_link::WorkerLinkService;
