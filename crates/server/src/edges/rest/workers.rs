//! Workers.

use axum::Json;
use axum::extract::State;
use bellwether_core::Command;
use bellwether_wire::json::{Worker, Workers};
use serde::Deserialize;
use utoipa::IntoParams;

use super::asked::Asked;
use super::read::{Path, Query};
use super::steer::command;
use super::view::Done;
use super::{Problem, Rest};
use crate::edges::desk::worker_views;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct WorkerFilter {
    /// Those that are gone, too.
    #[serde(default)]
    #[param(required = false)]
    all: bool,
}

/// List workers
#[utoipa::path(
    get, path = "/scheduler/workers", tag = "workers", operation_id = "list_workers",
    params(WorkerFilter),
    responses((status = 200, body = Workers)),
)]
pub(super) async fn list(
    State(rest): State<Rest>,
    Query(WorkerFilter { all }): Query<WorkerFilter>,
) -> Result<Json<Workers>, Problem> {
    let workers = rest.desk.handle.ask(move |view| worker_views(view, all)).await?;
    Ok(Json(Workers { workers: workers.into_iter().map(Worker::from).collect() }))
}

/// Get a worker
#[utoipa::path(
    get, path = "/scheduler/workers/{id}", tag = "workers", operation_id = "get_worker",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Worker), (status = 404, description = "It is not known")),
)]
pub(super) async fn get(State(rest): State<Rest>, Path(id): Path) -> Result<Json<Worker>, Problem> {
    let workers = rest.desk.handle.ask(|view| worker_views(view, true)).await?;
    let is_wanted = |worker: &Worker| worker.spec.id == id;
    let worker = workers.into_iter().map(Worker::from).find(is_wanted);
    worker
        .map(Json)
        .ok_or_else(|| Problem::unknown("unknown_worker", format!("worker {id} is not known")))
}

/// Drain a worker
///
/// It gets no more jobs, and ends those that it has.
#[utoipa::path(
    post, path = "/scheduler/workers/{id}/drain", tag = "workers", operation_id = "drain_worker",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Done), (status = 404, description = "It is not known")),
)]
pub(super) async fn drain(Asked(rest): Asked, id: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Drain { worker: id.name("id")? }).await
}

/// Let a drained worker have jobs again
#[utoipa::path(
    post, path = "/scheduler/workers/{id}/undrain", tag = "workers",
    operation_id = "undrain_worker",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Done), (status = 404, description = "It is not known")),
)]
pub(super) async fn undrain(Asked(rest): Asked, id: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Undrain { worker: id.name("id")? }).await
}
