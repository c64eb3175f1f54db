//! The one table of who may call what. What is not in it, nobody may.

use super::tokens::Role;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Even without a token.
    Everybody,
    /// With any token.
    Holders,
    Roles(&'static [Role]),
}

const LOOK: Access = Access::Roles(&[Role::Submitter, Role::Operator, Role::Viewer]);
const WATCH: Access = Access::Roles(&[Role::Operator, Role::Viewer]);
const LOOK_AFTER: Access = Access::Roles(&[Role::Submitter, Role::Operator]);
const SUBMIT: Access = Access::Roles(&[Role::Submitter]);
const STEER: Access = Access::Roles(&[Role::Operator]);
const WORK: Access = Access::Roles(&[Role::Worker]);

const TABLE: &[(&str, Access)] = &[
    ("/bellwether.v1.Scheduler/Submit", SUBMIT),
    ("/bellwether.v1.Scheduler/SubmitStream", SUBMIT),
    ("/bellwether.v1.Scheduler/GetJob", LOOK),
    ("/bellwether.v1.Scheduler/ListJobs", LOOK),
    ("/bellwether.v1.Scheduler/WaitJobs", LOOK),
    ("/bellwether.v1.Scheduler/Status", LOOK),
    ("/bellwether.v1.Scheduler/Explain", LOOK),
    ("/bellwether.v1.Scheduler/ListDecisions", WATCH),
    ("/bellwether.v1.Scheduler/Predictions", WATCH),
    ("/bellwether.v1.Scheduler/ShadowReport", WATCH),
    ("/bellwether.v1.Scheduler/Cancel", LOOK_AFTER),
    ("/bellwether.v1.Scheduler/Retry", LOOK_AFTER),
    ("/bellwether.v1.Scheduler/Pin", STEER),
    ("/bellwether.v1.Scheduler/ListWorkers", WATCH),
    ("/bellwether.v1.Scheduler/WatchEvents", WATCH),
    ("/bellwether.v1.Scheduler/GetConfig", WATCH),
    ("/bellwether.v1.Scheduler/Drain", STEER),
    ("/bellwether.v1.Scheduler/Undrain", STEER),
    ("/bellwether.v1.Scheduler/Pause", STEER),
    ("/bellwether.v1.Scheduler/Unpause", STEER),
    ("/bellwether.v1.Scheduler/SetConfig", STEER),
    ("/bellwether.v1.Scheduler/Snapshot", STEER),
    ("/bellwether.v1.WorkerLink/Session", WORK),
    ("/grpc.health.v1.Health/Check", Access::Everybody),
    ("/grpc.health.v1.Health/Watch", Access::Everybody),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Access::Holders),
    ("/healthz", Access::Everybody),
    ("/readyz", Access::Everybody),
    ("/metrics", WATCH),
];

/// None: nobody may.
pub fn access(path: &str) -> Option<Access> {
    TABLE.iter().find(|(known, _)| *known == path).map(|(_, access)| *access)
}
