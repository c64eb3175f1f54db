//! Submitting: one job, one run, or several of both.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bellwether_wire::json::{job_from_json, run_from_json, submission_from_json};
use bellwether_wire::{Malformed, v1};
use serde_json::value::RawValue;

use super::read::{RawJson, TraceOf};
use super::view::{Accepted, NewJob, NewRun, NewSubmission, SubmissionResult};
use super::{Problem, Rest, link};
use crate::edges::desk::{Refused, Unanswered};
use crate::sinks::trace::context;

/// Submit a job
///
/// It is durable when this is answered. The same idempotency key again gives the same job again.
#[utoipa::path(
    post, path = "/scheduler/jobs", tag = "jobs", operation_id = "submit_job",
    request_body = NewJob,
    responses(
        (status = 201, body = Accepted, headers(("location" = String, description = "The job"))),
        (status = 200, body = Accepted, description = "It was known already"),
        (status = 409, description = "There is another one of this id or key"),
        (status = 422, description = "It was understood and refused"),
    ),
)]
pub(super) async fn job(
    State(rest): State<Rest>,
    TraceOf(trace): TraceOf,
    RawJson(raw): RawJson,
) -> Result<Response, Problem> {
    let job = job_from_json(&raw).map_err(|why| Problem::from(&why))?;
    let submission = v1::Submission { run_id: String::new(), jobs: vec![job] };
    let accepted = Accepted::new(one(&rest, submission, trace).await.map_err(unnumbered)?, None);
    let location = link::job(accepted.first_id());
    Ok(created(accepted, location))
}

/// Submit a run
///
/// Its jobs are taken together or not at all. Dependencies may name nodes of the run.
#[utoipa::path(
    post, path = "/scheduler/runs", tag = "runs", operation_id = "submit_run",
    request_body = NewRun,
    responses(
        (status = 201, body = Accepted, headers(("location" = String, description = "The run"))),
        (status = 200, body = Accepted, description = "It was known already"),
        (status = 409, description = "There is another one of this id or key"),
        (status = 422, description = "It was understood and refused"),
    ),
)]
pub(super) async fn run(
    State(rest): State<Rest>,
    TraceOf(trace): TraceOf,
    RawJson(raw): RawJson,
) -> Result<Response, Problem> {
    let submission = run_from_json(&raw, &mut || rest.desk.ids.generate());
    let submission = submission.map_err(|why| Problem::from(&why))?;
    let run = submission.run_id.clone();
    let location = link::run(&run);
    let accepted = Accepted::new(one(&rest, submission, trace).await?, Some(run));
    Ok(created(accepted, location))
}

/// Submit several jobs and runs
///
/// Each is taken or refused by itself; the results are in the same order.
#[utoipa::path(
    post, path = "/scheduler/submissions", tag = "jobs", operation_id = "submit_several",
    request_body = Vec<NewSubmission>,
    responses((status = 200, body = Vec<SubmissionResult>)),
)]
pub(super) async fn several(
    State(rest): State<Rest>,
    TraceOf(trace): TraceOf,
    RawJson(raw): RawJson,
) -> Result<Json<Vec<SubmissionResult>>, Problem> {
    let list: Vec<Box<RawValue>> = serde_json::from_str(raw.get())
        .map_err(|_| Problem::malformed("the body must be a list of jobs and runs"))?;
    let mut submissions = Vec::new();
    let mut read = Vec::with_capacity(list.len());
    for raw in &list {
        let submission = submission_from_json(raw, &mut || rest.desk.ids.generate());
        read.push(submission.map(|submission| {
            let run = submission.run_id.clone();
            submissions.push(submission);
            run
        }));
    }
    context::adopt(&mut submissions, trace.as_deref());
    let mut submitted = rest.desk.submit(submissions).await?.into_iter();
    let results = read.into_iter().map(|read| {
        let run = read.map_err(|why| Problem::from(&why))?;
        let submitted = submitted.next().expect("the desk answers every submission");
        let run = (!run.is_empty()).then_some(run);
        Ok(Accepted::new(submitted?, run))
    });
    let result = |result: Result<Accepted, Problem>| match result {
        Ok(accepted) => SubmissionResult { accepted: Some(accepted), problem: None },
        Err(problem) => SubmissionResult { accepted: None, problem: Some(problem) },
    };
    Ok(Json(results.map(result).collect()))
}

async fn one(
    rest: &Rest,
    submission: v1::Submission,
    trace: Option<String>,
) -> Result<v1::Accepted, Unanswered> {
    let mut submissions = vec![submission];
    context::adopt(&mut submissions, trace.as_deref());
    let submitted = rest.desk.submit(submissions).await?.pop();
    Ok(submitted.expect("the desk answers every submission")?)
}

/// Whoever submits one job need not be told that it is the first.
fn unnumbered(why: Unanswered) -> Unanswered {
    match why {
        Unanswered::Refused(Refused::Malformed(Malformed { field, problem })) => {
            let field = field.strip_prefix("jobs[0].").unwrap_or(&field).to_owned();
            Malformed { field, problem }.into()
        }
        other => other,
    }
}

fn created(accepted: Accepted, location: HeaderValue) -> Response {
    let status = if accepted.known { StatusCode::OK } else { StatusCode::CREATED };
    (status, [(header::LOCATION, location)], Json(accepted)).into_response()
}
