//! How the scheduler is.

use axum::Json;
use axum::extract::State;
use bellwether_wire::json::Status;

use super::{Problem, Rest};

/// How the scheduler is
#[utoipa::path(
    get, path = "/scheduler/status", tag = "scheduler", operation_id = "status",
    responses((status = 200, body = Status)),
)]
pub(super) async fn status(State(rest): State<Rest>) -> Result<Json<Status>, Problem> {
    Ok(Json(rest.desk.status().await?.into()))
}
