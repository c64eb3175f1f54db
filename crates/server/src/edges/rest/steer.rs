//! Steering single jobs.

use axum::Json;
use axum::http::StatusCode;
use bellwether_core::{Command, Rejection};
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::Asked;
use super::read::{self, OptionalJson, Path, name};
use super::view::{Done, Name};
use super::{Problem, Rest};
use crate::edges::desk::{Refused, Unanswered};

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Cancel {
    /// For those who read the history.
    #[serde(default)]
    #[schema(required = false)]
    reason: String,
}

/// Cancel a job
///
/// It ends now, whatever its workers still do.
#[utoipa::path(
    post, path = "/scheduler/jobs/{id}/cancel", tag = "jobs", operation_id = "cancel_job",
    params(("id" = String, Path, description = "Its id")),
    request_body = Option<Cancel>,
    responses(
        (status = 200, body = Done),
        (status = 404, description = "It is not known, or has ended and left the queue"),
        (status = 409, description = "It has ended"),
    ),
)]
pub(super) async fn cancel(
    Asked(rest): Asked,
    id: Path,
    OptionalJson(Cancel { reason }): OptionalJson<Cancel>,
) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Cancel { job: id.name("id")?, reason }).await
}

/// Retry a job
///
/// It must have ended without completing; those that were skipped because of it come back with it.
#[utoipa::path(
    post, path = "/scheduler/jobs/{id}/retry", tag = "jobs", operation_id = "retry_job",
    params(("id" = String, Path, description = "Its id")),
    responses(
        (status = 200, body = Done),
        (status = 404, description = "It is not known, or has ended and left the queue"),
        (status = 409, description = "It is not one that can be retried"),
    ),
)]
pub(super) async fn retry(Asked(rest): Asked, id: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Retry { job: id.name("id")? }).await
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// The id of the worker.
    #[schema(value_type = Name)]
    worker: String,
}

/// Pin a job to a worker
///
/// Only this worker may run it from now on.
#[utoipa::path(
    post, path = "/scheduler/jobs/{id}/pin", tag = "jobs", operation_id = "pin_job",
    params(("id" = String, Path, description = "Its id")),
    request_body = Pin,
    responses(
        (status = 200, body = Done),
        (status = 404, description = "The job is not known, or has ended and left the queue"),
        (status = 409, description = "It has ended or is on a worker"),
        (status = 422, description = "The worker is not known"),
    ),
)]
pub(super) async fn pin(
    Asked(rest): Asked,
    id: Path,
    read::Json(Pin { worker }): read::Json<Pin>,
) -> Result<Json<Done>, Problem> {
    let (job, worker) = (id.name("id")?, name("worker", &worker)?);
    let done = rest.desk.command(Command::Pin { job, worker }).await;
    done.map(|position| Json(Done { position: position.0 })).map_err(|why| match &why {
        // The job is what the path names; that is there.
        Unanswered::Refused(Refused::Rejected(unknown @ Rejection::UnknownWorker { .. })) => {
            Problem::from(unknown).with_status(StatusCode::UNPROCESSABLE_ENTITY)
        }
        _ => Problem::from(why),
    })
}

pub(super) async fn command(rest: &Rest, command: Command) -> Result<Json<Done>, Problem> {
    let position = rest.desk.command(command).await?.0;
    Ok(Json(Done { position }))
}
