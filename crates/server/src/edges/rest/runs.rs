//! Looking at runs.

use axum::Json;
use axum::extract::State;
use bellwether_wire::json::JobPage;
use bellwether_wire::v1;
use serde::Deserialize;
use utoipa::IntoParams;

use super::jobs::limit;
use super::read::{Path, Query};
use super::view::{RunWithJobs, Runs};
use super::{Problem, Rest};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Page {
    /// From the page before.
    cursor: Option<String>,
    /// At most 1000.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

/// List runs
///
/// Newest first.
#[utoipa::path(
    get, path = "/scheduler/runs", tag = "runs", operation_id = "list_runs",
    params(Page),
    responses((status = 200, body = Runs)),
)]
pub(super) async fn list(
    State(rest): State<Rest>,
    Query(page): Query<Page>,
) -> Result<Json<Runs>, Problem> {
    let limit = match limit(page.limit)? {
        0 => None,
        limit => Some(limit as usize),
    };
    Ok(Json(rest.desk.runs(page.cursor.as_deref(), limit).await?.into()))
}

/// Get a run with its jobs
#[utoipa::path(
    get, path = "/scheduler/runs/{id}", tag = "runs", operation_id = "get_run",
    params(("id" = String, Path, description = "Its id"), Page),
    responses(
        (status = 200, body = RunWithJobs), (status = 404, description = "It is not known"),
    ),
)]
pub(super) async fn get(
    State(rest): State<Rest>,
    Path(id): Path,
    Query(page): Query<Page>,
) -> Result<Json<RunWithJobs>, Problem> {
    let limit = limit(page.limit)?;
    let run = rest.desk.run(&id).await?;
    let cursor = page.cursor.unwrap_or_default();
    let wanted = v1::ListJobsRequest { run_id: id, cursor, limit, ..Default::default() };
    let JobPage { jobs, next_cursor } = rest.desk.list_jobs(wanted).await?.into();
    Ok(Json(RunWithJobs { run: run.into(), jobs, next_cursor }))
}
