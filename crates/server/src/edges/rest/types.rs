//! Types of jobs, as a whole.

use axum::Json;
use bellwether_core::Command;

use super::Problem;
use super::asked::Asked;
use super::read::Path;
use super::steer::command;
use super::view::Done;

/// Pause a type
///
/// Its jobs stay in the queue; those that run go on. The status tells which types are paused.
#[utoipa::path(
    post, path = "/scheduler/types/{type}/pause", tag = "types", operation_id = "pause_type",
    params(("type" = String, Path, description = "The type of jobs")),
    responses((status = 200, body = Done)),
)]
pub(super) async fn pause(Asked(rest): Asked, kind: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Pause { kind: kind.name("type")? }).await
}

/// Resume a type
#[utoipa::path(
    post, path = "/scheduler/types/{type}/resume", tag = "types", operation_id = "resume_type",
    params(("type" = String, Path, description = "The type of jobs")),
    responses((status = 200, body = Done)),
)]
pub(super) async fn resume(Asked(rest): Asked, kind: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::Unpause { kind: kind.name("type")? }).await
}
