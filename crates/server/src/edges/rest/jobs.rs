//! Looking at jobs.

use axum::Json;
use axum::extract::State;
use bellwether_core::Word as _;
use bellwether_core::model::{JobStatus, Seq};
use bellwether_wire::json::code::JobState;
use bellwether_wire::json::{Job, JobPage};
use bellwether_wire::{Mirror as _, v1};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::read::{Path, Query};
use super::{Problem, Rest};
use crate::projections::registry::Counted;

/// Which jobs are wanted: all that is given must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(super) struct JobFilter {
    /// States, with commas between them; none: any.
    #[param(style = Form, explode = false, value_type = Option<Vec<JobState>>)]
    state: Option<String>,
    r#type: Option<String>,
    tag: Option<String>,
    /// The id of a run.
    run: Option<String>,
    /// The worker of the latest attempt.
    worker: Option<String>,
    #[param(format = "date-time")]
    submitted_after: Option<String>,
    #[param(format = "date-time")]
    submitted_before: Option<String>,
    /// The start of the id.
    id_prefix: Option<String>,
    /// From the page before.
    cursor: Option<String>,
    /// At most 1000; 100 if it is left out.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u32>,
}

impl JobFilter {
    /// It would take all jobs there are.
    pub(super) fn is_empty(&self) -> bool {
        JobFilter { cursor: None, limit: None, ..self.clone() } == JobFilter::default()
    }

    pub(super) fn to_wire(&self) -> Result<v1::ListJobsRequest, Problem> {
        let words = self.state.iter().flat_map(|words| words.split(','));
        let states = words.map(state);
        let time = |field: &str, given: &Option<String>| {
            given.as_ref().map_or(Ok(0), |text| micros_of(field, text))
        };
        let text = |given: &Option<String>| given.clone().unwrap_or_default();
        Ok(v1::ListJobsRequest {
            states: states.collect::<Result<_, Problem>>()?,
            r#type: text(&self.r#type),
            tag: text(&self.tag),
            run_id: text(&self.run),
            worker: text(&self.worker),
            submitted_after: time("submitted_after", &self.submitted_after)?,
            submitted_before: time("submitted_before", &self.submitted_before)?,
            id_prefix: text(&self.id_prefix),
            cursor: text(&self.cursor),
            limit: limit(self.limit)?,
            position: 0,
            no_elements: false,
        })
    }
}

/// Most that one page may hold.
const LIMIT_MAX: u32 = 1_000;

/// 0 is the default.
pub(super) fn limit(given: Option<u32>) -> Result<u32, Problem> {
    match given {
        None => Ok(0),
        Some(limit @ 1..=LIMIT_MAX) => Ok(limit),
        Some(other) => {
            Err(Problem::malformed(format!("limit: is {other}; it must be from 1 to {LIMIT_MAX}")))
        }
    }
}

fn state(word: &str) -> Result<i32, Problem> {
    JobStatus::parse(word).map(JobStatus::to_wire).ok_or_else(|| {
        let known = JobStatus::WORDS.join(", ");
        Problem::malformed(format!("state: is {word:?}; it must be one of {known}"))
    })
}

pub(super) fn micros_of(field: &str, text: &str) -> Result<u64, Problem> {
    let time: Option<jiff::Timestamp> = text.parse().ok();
    let micros = time.and_then(|time| u64::try_from(time.as_microsecond()).ok());
    micros.ok_or_else(|| {
        let wanted = "it must be a time as 2027-01-31T08:00:00Z";
        Problem::malformed(format!("{field}: is {text:?}; {wanted}"))
    })
}

/// List jobs
///
/// Newest first.
#[utoipa::path(
    get, path = "/scheduler/jobs", tag = "jobs", operation_id = "list_jobs",
    params(JobFilter),
    responses((status = 200, body = JobPage)),
)]
pub(super) async fn list(
    State(rest): State<Rest>,
    Query(filter): Query<JobFilter>,
) -> Result<Json<JobPage>, Problem> {
    let page = rest.desk.list_jobs(filter.to_wire()?).await?;
    Ok(Json(page.into()))
}

/// How many jobs there are of a kind.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct JobCount {
    jobs: u64,
    /// There are more than that: nobody counts further.
    more: bool,
}

/// Count jobs
///
/// By the filter of the list; no further than 10,000.
#[utoipa::path(
    get, path = "/scheduler/job-count", tag = "jobs", operation_id = "count_jobs",
    params(JobFilter),
    responses((status = 200, body = JobCount)),
)]
pub(super) async fn count(
    State(rest): State<Rest>,
    Query(filter): Query<JobFilter>,
) -> Result<Json<JobCount>, Problem> {
    let Counted { jobs, more } = rest.desk.count_jobs(filter.to_wire()?).await?;
    Ok(Json(JobCount { jobs, more }))
}

/// Get a job
///
/// With its payload, its attempts and its result.
#[utoipa::path(
    get, path = "/scheduler/jobs/{id}", tag = "jobs", operation_id = "get_job",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Job), (status = 404, description = "It is not known")),
)]
pub(super) async fn get(State(rest): State<Rest>, Path(id): Path) -> Result<Json<Job>, Problem> {
    Ok(Json(rest.desk.job(id, Seq(0)).await?.into()))
}
