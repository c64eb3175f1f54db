//! One thing done to many jobs, with progress.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::JobStatus;
use bellwether_wire::Mirror as _;
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::Asked;
use super::jobs::JobFilter;
use super::read::{self, Path};
use super::view::{OperationView, Operations};
use super::{Problem, Rest, link};
use crate::edges::desk::Action;

/// What to do, and to which jobs.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewOperation {
    action: ActionName,
    /// At least one of its fields. Without `state`, cancel takes jobs that have not ended, and retry
    /// those that failed, were cancelled or dead-lettered.
    filter: JobFilter,
    /// Of a cancellation, for those who read the history.
    #[serde(default)]
    #[schema(required = false)]
    reason: String,
}

#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ActionName {
    Cancel,
    Retry,
}

/// Whether this is to be done to jobs in this state, if nothing else is said. Skipped jobs come back
/// with those that they were skipped for.
fn concerns(action: ActionName, status: JobStatus) -> bool {
    match action {
        ActionName::Cancel => !status.has_ended(),
        ActionName::Retry => {
            matches!(status, JobStatus::Failed | JobStatus::Cancelled | JobStatus::DeadLettered)
        }
    }
}

/// Cancel or retry many jobs
///
/// Goes on in the background; its progress is at Location.
#[utoipa::path(
    post, path = "/scheduler/operations", tag = "jobs", operation_id = "start_operation",
    request_body = NewOperation,
    responses((
        status = 202, body = OperationView,
        headers(("location" = String, description = "Where its progress is")),
    )),
)]
pub(super) async fn start(
    Asked(rest): Asked,
    read::Json(NewOperation { action, filter, reason }): read::Json<NewOperation>,
) -> Result<Response, Problem> {
    if filter.is_empty() {
        let detail = "filter: is empty; name what the jobs have in common, as their type";
        return Err(Problem::malformed(detail));
    }
    let mut wanted = filter.to_wire()?;
    if wanted.states.is_empty() {
        let concerned = JobStatus::ALL.into_iter().filter(|status| concerns(action, *status));
        wanted.states = concerned.map(JobStatus::to_wire).collect();
    }
    let action = match action {
        ActionName::Cancel => Action::Cancel { reason },
        ActionName::Retry => Action::Retry,
    };
    let started = rest.operations.start(&rest.desk, action, wanted).map_err(|why| {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_operations", why.to_string())
    })?;
    let location = link::operation(&started.id);
    let view = Json(OperationView::from(&*started));
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], view).into_response())
}

/// The progress of an operation
#[utoipa::path(
    get, path = "/scheduler/operations/{id}", tag = "jobs", operation_id = "get_operation",
    params(("id" = String, Path, description = "Its id")),
    responses(
        (status = 200, body = OperationView),
        (status = 404, description = "It is not known, or ended long ago"),
    ),
)]
pub(super) async fn get(
    State(rest): State<Rest>,
    Path(id): Path,
) -> Result<Json<OperationView>, Problem> {
    let found = rest.operations.find(&id).ok_or_else(|| {
        let detail = format!("operation {id} is not known; the last hundred are kept");
        Problem::unknown("unknown_operation", detail)
    })?;
    Ok(Json(OperationView::from(&*found)))
}

/// List operations
///
/// Newest first: those that run, and the last hundred of those that have ended.
#[utoipa::path(
    get, path = "/scheduler/operations", tag = "jobs", operation_id = "list_operations",
    responses((status = 200, body = Operations)),
)]
pub(super) async fn list(State(rest): State<Rest>) -> Json<Operations> {
    let kept = rest.operations.list();
    let operations = kept.iter().map(|operation| OperationView::from(&**operation)).collect();
    Json(Operations { operations })
}
