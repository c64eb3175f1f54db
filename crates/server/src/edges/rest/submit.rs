//! Submitting: one job, one run, or several of both.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::{Name, Submission};
use bellwether_wire::json::{SubmissionDraft, job_from_json, run_from_json, submission_from_json};
use bellwether_wire::{Malformed, v1};
use serde_json::value::RawValue;

use super::read::{RawJson, TraceOf};
use super::view::{Accepted, NewJob, NewRun, NewSubmission, SubmissionResult};
use super::{Problem, Rest, link};
use crate::edges::desk::Submitted;
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
    let accepted = Accepted::new(one(&rest, job_from_json(&raw), trace).await?, None);
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
    let draft = run_from_json(&raw, &mut || rest.desk.ids.generate());
    let run = draft.as_ref().ok().and_then(|draft| draft.run.as_ref()).map(Name::to_string);
    let accepted = Accepted::new(one(&rest, draft, trace).await?, run);
    let location = link::run(accepted.run());
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
    let mut runs = Vec::with_capacity(list.len());
    let mut submissions = Vec::with_capacity(list.len());
    for raw in &list {
        let draft = submission_from_json(raw, &mut || rest.desk.ids.generate());
        let submission = complete(&rest, draft, trace.as_deref());
        let run = submission.as_ref().ok().and_then(|submission| submission.run.as_ref());
        runs.push(run.map(Name::to_string));
        submissions.push(submission);
    }
    let submitted = rest.desk.submit(submissions).await?;
    let result = |(submitted, run): (Submitted, Option<String>)| match submitted {
        Ok(accepted) => {
            SubmissionResult { accepted: Some(Accepted::new(accepted, run)), problem: None }
        }
        Err(why) => SubmissionResult { accepted: None, problem: Some(why.into()) },
    };
    Ok(Json(submitted.into_iter().zip(runs).map(result).collect()))
}

async fn one(
    rest: &Rest,
    draft: Result<SubmissionDraft, Malformed>,
    trace: Option<String>,
) -> Result<v1::Accepted, Problem> {
    let submission = complete(rest, draft, trace.as_deref()).map_err(|why| Problem::from(&why))?;
    let submitted = rest.desk.submit(vec![Ok(submission)]).await?.pop();
    Ok(submitted.expect("the desk answers every submission")?)
}

fn complete(
    rest: &Rest,
    draft: Result<SubmissionDraft, Malformed>,
    trace: Option<&str>,
) -> Result<Submission, Malformed> {
    let mut submission = draft?.complete(&mut || rest.desk.ids.generate());
    context::adopt(&mut submission, trace);
    Ok(submission)
}

fn created(accepted: Accepted, location: HeaderValue) -> Response {
    let status = if accepted.known { StatusCode::OK } else { StatusCode::CREATED };
    (status, [(header::LOCATION, location)], Json(accepted)).into_response()
}
