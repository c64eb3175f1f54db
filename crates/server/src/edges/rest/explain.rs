//! Why: of jobs, of decisions, of predictions and of the policy itself.

use axum::Json;
use axum::extract::State;
use bellwether_core::model::Seq;
use bellwether_wire::json::{DecisionPage, Explanation, Predictions, ShadowReport};
use bellwether_wire::v1;
use serde::Deserialize;
use utoipa::IntoParams;

use super::read::{Path, Query};
use super::{Problem, Rest};

/// Explain a job
///
/// What it waits for and when it is expected to start; why each worker was chosen, by how much, and
/// what came of it. Also answers for submissions that were refused a short while ago, and for an array by
/// its name: how many of its jobs wait for what.
#[utoipa::path(
    get, path = "/scheduler/jobs/{id}/explain", tag = "jobs", operation_id = "explain_job",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Explanation), (status = 404, description = "It is not known")),
)]
pub(super) async fn job(
    State(rest): State<Rest>,
    Path(id): Path,
) -> Result<Json<Explanation>, Problem> {
    let told = rest.desk.explain(id, Seq(0)).await?;
    if told.job == 0 && told.refused.is_none() && told.array.is_empty() {
        return Err(Problem::unknown("unknown_job", told.summary));
    }
    Ok(Json(told.into()))
}

/// The decisions of a job
///
/// Newest first.
#[utoipa::path(
    get, path = "/scheduler/jobs/{id}/decisions", tag = "jobs", operation_id = "job_decisions",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = DecisionPage), (status = 404, description = "It is not known")),
)]
pub(super) async fn decisions_of(
    State(rest): State<Rest>,
    Path(id): Path,
) -> Result<Json<DecisionPage>, Problem> {
    let wanted = v1::ListDecisionsRequest { job_id: id, limit: LIMIT_MAX, ..Default::default() };
    Ok(Json(rest.desk.decisions(wanted).await?.into()))
}

const LIMIT_MAX: u32 = 500;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct DecisionFilter {
    /// For this worker.
    worker: Option<String>,
    /// For jobs of this type.
    r#type: Option<String>,
    /// From the page before.
    cursor: Option<String>,
    /// At most 500; 50 if it is left out.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

/// Recent decisions
///
/// Newest first.
#[utoipa::path(
    get, path = "/scheduler/decisions", tag = "decisions", operation_id = "list_decisions",
    params(DecisionFilter),
    responses((status = 200, body = DecisionPage)),
)]
pub(super) async fn decisions(
    State(rest): State<Rest>,
    Query(filter): Query<DecisionFilter>,
) -> Result<Json<DecisionPage>, Problem> {
    let limit = match filter.limit {
        None => 0,
        Some(limit @ 1..=LIMIT_MAX) => limit,
        Some(other) => {
            let wanted = format!("limit: is {other}; it must be from 1 to {LIMIT_MAX}");
            return Err(Problem::malformed(wanted));
        }
    };
    let wanted = v1::ListDecisionsRequest {
        job_id: String::new(),
        worker: filter.worker.unwrap_or_default(),
        r#type: filter.r#type.unwrap_or_default(),
        cursor: filter.cursor.unwrap_or_default(),
        limit,
    };
    Ok(Json(rest.desk.decisions(wanted).await?.into()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct PredictionFilter {
    /// Of this type alone.
    r#type: Option<String>,
}

/// Predictions, and how good they have been
#[utoipa::path(
    get, path = "/scheduler/predictions", tag = "decisions", operation_id = "predictions",
    params(PredictionFilter),
    responses((status = 200, body = Predictions)),
)]
pub(super) async fn predictions(
    State(rest): State<Rest>,
    Query(filter): Query<PredictionFilter>,
) -> Result<Json<Predictions>, Problem> {
    Ok(Json(rest.desk.predictions(filter.r#type.unwrap_or_default()).await?.into()))
}

/// What the shadow policy would have done
#[utoipa::path(
    get, path = "/scheduler/shadow", tag = "decisions", operation_id = "shadow_report",
    responses((status = 200, body = ShadowReport)),
)]
pub(super) async fn shadow(State(rest): State<Rest>) -> Result<Json<ShadowReport>, Problem> {
    Ok(Json(rest.desk.shadow_report().await?.into()))
}
