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

/// By the path of a gRPC method, or by the method and the route of an HTTP operation.
const TABLE: &[(&str, Access)] = &[
    ("/bellwether.v1.Scheduler/Submit", SUBMIT),
    ("/bellwether.v1.Scheduler/SubmitStream", SUBMIT),
    ("/bellwether.v1.Scheduler/GetJob", LOOK),
    ("/bellwether.v1.Scheduler/ListJobs", LOOK),
    ("/bellwether.v1.Scheduler/WaitJobs", LOOK),
    ("/bellwether.v1.Scheduler/WatchLogs", LOOK),
    ("/bellwether.v1.Scheduler/ListRuns", LOOK),
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
    ("/bellwether.v1.Scheduler/InviteWorker", STEER),
    ("/bellwether.v1.Scheduler/ApproveKey", STEER),
    ("/bellwether.v1.Scheduler/RevokeKey", STEER),
    ("/bellwether.v1.Scheduler/ListKeys", WATCH),
    ("/bellwether.v1.Scheduler/Pause", STEER),
    ("/bellwether.v1.Scheduler/Unpause", STEER),
    ("/bellwether.v1.Scheduler/SetConfig", STEER),
    ("/bellwether.v1.Scheduler/Snapshot", STEER),
    ("/bellwether.v1.Scheduler/Backup", STEER),
    ("/bellwether.v1.Scheduler/Reload", STEER),
    ("/bellwether.v1.Scheduler/ListQueues", WATCH),
    ("/bellwether.v1.Scheduler/SignInLink", Access::Holders),
    ("/bellwether.v1.WorkerLink/Session", WORK),
    ("/bellwether.v1.WorkerLink/RotateKey", WORK),
    ("/bellwether.v1.WorkerLink/Introduce", Access::Holders),
    ("/bellwether.v1.Members/Watch", Access::Holders),
    ("/bellwether.v1.Members/List", LOOK),
    ("/bellwether.v1.Members/State", STEER),
    ("/bellwether.v1.Members/Transfer", STEER),
    ("/bellwether.v1.Members/Remove", STEER),
    ("/grpc.health.v1.Health/Check", Access::Everybody),
    ("/grpc.health.v1.Health/Watch", Access::Everybody),
    ("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", Access::Holders),
    ("GET /healthz", Access::Everybody),
    ("GET /readyz", Access::Everybody),
    ("GET /metrics", WATCH),
    ("GET /", Access::Everybody),
    ("GET /ui", Access::Everybody),
    ("GET /ui/", Access::Everybody),
    ("GET /ui/{*path}", Access::Everybody),
    ("POST /scheduler/sign-in", Access::Everybody),
    ("POST /scheduler/sign-in-links", Access::Holders),
    ("GET /scheduler/whoami", Access::Holders),
    ("GET /scheduler/summary", WATCH),
    ("GET /scheduler/series", WATCH),
    ("GET /scheduler/attempts", WATCH),
    ("GET /scheduler/job-count", LOOK),
    ("GET /scheduler/types", WATCH),
    ("GET /scheduler/queues", WATCH),
    ("GET /scheduler/members", LOOK),
    ("GET /scheduler/runs/{id}/graph", LOOK),
    ("GET /scheduler/openapi.json", Access::Everybody),
    ("GET /scheduler/status", LOOK),
    ("POST /scheduler/jobs", SUBMIT),
    ("POST /scheduler/runs", SUBMIT),
    ("POST /scheduler/submissions", SUBMIT),
    ("GET /scheduler/jobs", LOOK),
    ("GET /scheduler/jobs/{id}", LOOK),
    ("GET /scheduler/jobs/{id}/logs", LOOK),
    ("POST /scheduler/jobs/{id}/cancel", LOOK_AFTER),
    ("POST /scheduler/jobs/{id}/retry", LOOK_AFTER),
    ("POST /scheduler/jobs/{id}/pin", STEER),
    ("GET /scheduler/jobs/{id}/explain", LOOK),
    ("GET /scheduler/jobs/{id}/decisions", WATCH),
    ("POST /scheduler/operations", STEER),
    ("GET /scheduler/operations", WATCH),
    ("GET /scheduler/operations/{id}", WATCH),
    ("GET /scheduler/runs", LOOK),
    ("GET /scheduler/runs/{id}", LOOK),
    ("GET /scheduler/workers", WATCH),
    ("GET /scheduler/workers/{id}", WATCH),
    ("POST /scheduler/workers/{id}/drain", STEER),
    ("POST /scheduler/workers/{id}/undrain", STEER),
    ("POST /scheduler/workers/{id}/approve", STEER),
    ("POST /scheduler/workers/{id}/invite", STEER),
    ("POST /scheduler/workers/{id}/revoke", STEER),
    ("GET /scheduler/keys", WATCH),
    ("GET /scheduler/identity", Access::Holders),
    ("POST /scheduler/handoffs", WORK),
    ("POST /scheduler/types/{type}/pause", STEER),
    ("POST /scheduler/types/{type}/resume", STEER),
    ("GET /scheduler/decisions", WATCH),
    ("GET /scheduler/predictions", WATCH),
    ("GET /scheduler/shadow", WATCH),
    ("GET /scheduler/config", WATCH),
    ("PUT /scheduler/config", STEER),
    ("PATCH /scheduler/config", STEER),
    ("GET /scheduler/events", WATCH),
    ("GET /scheduler/docs", Access::Everybody),
];

/// None: nobody may.
pub fn access(path: &str) -> Option<Access> {
    TABLE.iter().find(|(known, _)| *known == path).map(|(_, access)| *access)
}

/// Who may use an HTTP operation. None: nobody may.
pub fn operation(method: &str, route: &str) -> Option<Access> {
    access(&format!("{method} {route}"))
}

/// The HTTP operations in the table, as method and route.
pub fn operations() -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.iter().filter_map(|(known, _)| known.split_once(' '))
}

/// The methods that a route takes.
pub fn methods(route: &str) -> Vec<&'static str> {
    operations().filter(|(_, known)| *known == route).map(|(method, _)| method).collect()
}
