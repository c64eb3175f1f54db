//! What is around the jobs: the queues in front, the schedulers that belong together, and types.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Problem, Rest};

/// The queues in front.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Queues {
    queues: Vec<Queue>,
}

/// A queue in front. Counts are those of this process of the scheduler.
#[derive(Debug, Serialize, ToSchema)]
struct Queue {
    name: String,
    /// redis, rabbitmq, nats, zeromq or sqlite.
    backend: String,
    /// Messages that became jobs.
    taken: u64,
    /// Messages that were set aside.
    dead_lettered: u64,
    /// Messages in hand whose jobs are not durable yet.
    held: u64,
    /// Times that its server did not take or give something.
    failures: u64,
    /// Events published.
    events: u64,
    /// Events that it has not been told yet.
    events_lag: u64,
}

/// List the queues in front
#[utoipa::path(
    get, path = "/scheduler/queues", tag = "scheduler", operation_id = "list_queues",
    responses((status = 200, body = Queues)),
)]
pub(super) async fn queues(State(rest): State<Rest>) -> Json<Queues> {
    let views = rest.desk.queues.views(rest.desk.handle.durable());
    let queue = |view: v1::QueueView| Queue {
        name: view.name,
        backend: view.backend,
        taken: view.taken,
        dead_lettered: view.dead_lettered,
        held: view.held,
        failures: view.failures,
        events: view.events,
        events_lag: view.events_lag,
    };
    Json(Queues { queues: views.into_iter().map(queue).collect() })
}

/// The schedulers that belong together.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MemberList {
    /// The number of this one.
    member: u32,
    /// alone, following, standing, acceding, reigning or learning.
    standing: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<LeaderView>,
    /// The last position that is known to be committed, and the last that is applied here.
    committed: u64,
    applied: u64,
    members: Vec<MemberView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct LeaderView {
    member: u32,
    epoch: u64,
    grpc: String,
    http: String,
    /// It is this one.
    here: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct MemberView {
    member: u32,
    address: String,
    votes: bool,
    /// How far it is, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<u64>,
}

/// List the schedulers that belong together
#[utoipa::path(
    get, path = "/scheduler/members", tag = "scheduler", operation_id = "list_members",
    responses((status = 200, body = MemberList)),
)]
pub(super) async fn members(State(rest): State<Rest>) -> Result<Json<MemberList>, Problem> {
    let applied = rest.desk.handle.durable();
    let list = rest.desk.members.list(applied);
    let standing = list.standing().as_str_name().to_ascii_lowercase();
    let standing = standing.rsplit('_').next().unwrap_or_default().to_owned();
    let leader = list.leader.map(|leader| LeaderView {
        member: leader.member,
        epoch: leader.epoch,
        grpc: leader.grpc,
        http: leader.http,
        here: leader.here,
    });
    let member = |member: v1::Member| MemberView {
        member: member.member,
        address: member.address,
        votes: member.votes,
        position: member.position,
    };
    Ok(Json(MemberList {
        member: list.member,
        standing,
        leader: leader.filter(|leader| !leader.http.is_empty()),
        committed: list.committed,
        applied: list.applied,
        members: list.members.into_iter().map(member).collect(),
    }))
}

/// Types of jobs.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Types {
    types: Vec<TypeView>,
}

#[derive(Debug, Serialize, ToSchema)]
struct TypeView {
    r#type: String,
    /// Jobs submitted since the process began.
    submitted: u64,
    /// Jobs ended since, by how.
    ended: BTreeMap<&'static str, u64>,
    retries: u64,
    /// Predictions that were tested, and those within a quarter of what it took.
    predictions: u64,
    near: u64,
    paused: bool,
}

/// List types
///
/// With what became of their jobs since the process began; those that came last share `other`.
#[utoipa::path(
    get, path = "/scheduler/types", tag = "types", operation_id = "list_types",
    responses((status = 200, body = Types)),
)]
pub(super) async fn types(State(rest): State<Rest>) -> Result<Json<Types>, Problem> {
    let paused = rest.desk.handle.ask(|view| view.state.paused().clone()).await?;
    let is_paused = |name: &str| paused.iter().any(|kind| kind.as_str() == name);
    let types = rest.metrics.types().into_iter().map(|seen| TypeView {
        paused: is_paused(&seen.name),
        r#type: seen.name,
        submitted: seen.submitted,
        ended: seen.ended,
        retries: seen.retries,
        predictions: seen.predictions,
        near: seen.near,
    });
    Ok(Json(Types { types: types.collect() }))
}
