//! A run as a graph.

use axum::Json;
use axum::extract::State;
use bellwether_wire::json::code::{Code, JobState};
use serde::Serialize;
use utoipa::ToSchema;

use super::attempts::place_of;
use super::read::Path;
use super::{Problem, Rest};
use crate::edges::desk::Unanswered;
use crate::projections::registry::GraphNode;

/// The jobs of a run in columns, in the order in which they were submitted.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct RunGraph {
    id: String,
    /// Names that `type` counts in.
    types: Vec<String>,
    /// Names that `worker` counts in.
    workers: Vec<String>,
    job: Vec<String>,
    /// Names within the run.
    node: Vec<String>,
    r#type: Vec<u32>,
    state: Vec<Option<JobState>>,
    /// Of the latest attempt; null if there is none.
    worker: Vec<Option<u32>>,
    attempts: Vec<u32>,
    /// Milliseconds since 1970.
    submitted: Vec<u64>,
    /// 0 if it has not started.
    started: Vec<u64>,
    /// 0 if it has not ended.
    ended: Vec<u64>,
    /// Places of the jobs that each waits for.
    dependencies: Vec<Vec<u32>>,
    /// It has more jobs than are told.
    more: bool,
}

/// Get the graph of a run
///
/// All of its jobs at once, without payloads, and which waits for which.
#[utoipa::path(
    get, path = "/scheduler/runs/{id}/graph", tag = "runs", operation_id = "run_graph",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = RunGraph), (status = 404, description = "It is not known")),
)]
pub(super) async fn get(
    State(rest): State<Rest>,
    Path(id): Path,
) -> Result<Json<RunGraph>, Problem> {
    rest.desk.registry.reach(rest.desk.handle.durable()).await?;
    let found = rest.desk.registry.graph(id.clone()).await?;
    let found = found.ok_or_else(|| Unanswered::UnknownRun { id: id.clone() })?;
    let shown = rest.desk.shown();
    let millis = |micros: u64| shown.moment(micros) / 1_000;
    let mut graph = RunGraph { id, more: found.more, ..RunGraph::default() };
    for GraphNode { job, dependencies } in found.nodes {
        let spec = job.spec.unwrap_or_default();
        let kind = spec.requirements.map(|wanted| wanted.r#type).unwrap_or_default();
        graph.r#type.push(place_of(kind, &mut graph.types));
        graph.state.push(Code::from_wire(job.state));
        let worker = job.attempts.last().map(|attempt| attempt.worker.clone());
        graph.worker.push(worker.map(|worker| place_of(worker, &mut graph.workers)));
        graph.attempts.push(u32::try_from(job.attempts.len()).unwrap_or(u32::MAX));
        graph.submitted.push(millis(job.submitted_at));
        graph.started.push(millis(job.started_at));
        graph.ended.push(millis(job.ended_at));
        graph.node.push(if spec.node.is_empty() { spec.id.clone() } else { spec.node });
        graph.job.push(spec.id);
        graph.dependencies.push(dependencies);
    }
    Ok(Json(graph))
}
