//! Attempts by worker and time.

use axum::Json;
use axum::extract::State;
use bellwether_wire::Malformed;
use bellwether_wire::json::code::{AttemptState, Code};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::jobs::micros_of;
use super::read::Query;
use super::{Problem, Rest};
use crate::projections::registry::{AttemptsWanted, PastAttempt, PastAttempts};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AttemptFilter {
    /// On this worker.
    worker: Option<String>,
    /// Those that had not ended at this time.
    #[param(format = "date-time")]
    after: Option<String>,
    /// Those that were offered by this time.
    #[param(format = "date-time")]
    before: Option<String>,
    /// From the answer before.
    #[param(minimum = 0)]
    cursor: Option<i64>,
}

/// What workers did when, in columns: place by place, what the lists say belongs together.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(super) struct Attempts {
    /// Names that `worker` counts in.
    workers: Vec<String>,
    /// Names that `type` counts in.
    types: Vec<String>,
    /// Ids of jobs.
    job: Vec<String>,
    /// Which attempt of the job it was, from 1 on.
    number: Vec<u32>,
    worker: Vec<u32>,
    r#type: Vec<u32>,
    state: Vec<Option<AttemptState>>,
    /// Milliseconds since 1970.
    offered: Vec<u64>,
    /// 0 if it did not start.
    started: Vec<u64>,
    /// 0 if it has not ended.
    ended: Vec<u64>,
    /// Ask again with this as `cursor`, also after an answer without attempts; absent after the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<u64>,
}

/// None is the beginning.
fn cursor(given: Option<i64>) -> Result<u64, Problem> {
    let given = given.unwrap_or(0);
    u64::try_from(given).map_err(|_| {
        Problem::from(&Malformed::not_allowed("cursor", given, "take it from the answer before"))
    })
}

/// List attempts
///
/// Those of the newest jobs first, 5000 jobs at a time.
#[utoipa::path(
    get, path = "/scheduler/attempts", tag = "workers", operation_id = "list_attempts",
    params(AttemptFilter),
    responses((status = 200, body = Attempts)),
)]
pub(super) async fn list(
    State(rest): State<Rest>,
    Query(filter): Query<AttemptFilter>,
) -> Result<Json<Attempts>, Problem> {
    let time = |field: &str, given: &Option<String>| {
        given.as_ref().map_or(Ok(0), |text| micros_of(field, text))
    };
    let shown = rest.desk.shown();
    let wanted = AttemptsWanted {
        worker: filter.worker.unwrap_or_default(),
        after: shown.named(time("after", &filter.after)?),
        before: shown.named(time("before", &filter.before)?),
        cursor: cursor(filter.cursor)?,
    };
    rest.desk.registry.reach(rest.desk.handle.durable()).await?;
    let PastAttempts { attempts, next } = rest.desk.registry.attempts(wanted).await?;
    let mut columns = Attempts { next_cursor: next, ..Attempts::default() };
    let millis = |micros: u64| shown.moment(micros) / 1_000;
    for PastAttempt { job, kind, number, attempt } in attempts {
        columns.state.push(Code::known(attempt.state()));
        columns.job.push(job);
        columns.number.push(number);
        columns.worker.push(place_of(attempt.worker, &mut columns.workers));
        columns.r#type.push(place_of(kind, &mut columns.types));
        columns.offered.push(millis(attempt.offered_at));
        columns.started.push(millis(attempt.started_at));
        columns.ended.push(millis(attempt.ended_at));
    }
    Ok(Json(columns))
}

/// Of a name in a list of few; it is added if it is new.
pub(super) fn place_of(name: String, names: &mut Vec<String>) -> u32 {
    let place = names.iter().position(|known| *known == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    });
    u32::try_from(place).unwrap_or(u32::MAX)
}
