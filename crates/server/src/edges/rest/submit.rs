//! Submitting: one job, one run, or several of both.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::{JobId, RunId, Submission};
use bellwether_wire::json::{
    Plan, SubmissionDraft, job_from_json, listed_from_json, run_from_json, submission_from_json,
};
use bellwether_wire::{Malformed, v1};
use serde_json::value::RawValue;

use super::asked::Asked;
use super::intake::{Written, bug};
use super::read::TraceOf;
use super::view::{Accepted, NewJob, NewRun, NewSubmission, SubmissionResult};
use super::{Problem, Rest, link};
use crate::edges::desk::{JobIds, Submitted};
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
    Asked(rest): Asked,
    TraceOf(trace): TraceOf,
    written: Written,
) -> Result<Response, Problem> {
    let accepted = one(&rest, written, trace, |raw, _| job_from_json(raw)).await?;
    let location = link::job(accepted.first_id());
    Ok(created(accepted, location))
}

/// Submit a run
///
/// Its jobs are taken together or not at all. They are named in the run, and dependencies may use
/// these names; the same again is a new run, unless it has an `idempotency_key`. With arrays it may
/// stand for more than 10000 jobs: these are taken step by step, and with a key the same request goes
/// on where one that broke off has ended.
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
    Asked(rest): Asked,
    TraceOf(trace): TraceOf,
    written: Written,
) -> Result<Response, Problem> {
    let ids = rest.desk.ids.clone();
    let read = written.read(move |raw| {
        run_from_json(raw, &mut || ids.generate()).map_err(|why| Problem::from(&why))
    });
    let plan = read.await?;
    let accepted = if plan.is_large() {
        // Whoever asked may go away: what was begun is taken to its end.
        tokio::spawn(in_steps(rest, plan, trace)).await.map_err(bug)??
    } else {
        let ids = rest.desk.ids.clone();
        let submission = whole(&ids, plan, trace.as_deref()).map_err(|why| Problem::from(&why))?;
        taken(&rest, submission).await?
    };
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
    Asked(rest): Asked,
    TraceOf(trace): TraceOf,
    written: Written,
) -> Result<Json<Vec<SubmissionResult>>, Problem> {
    let ids = rest.desk.ids.clone();
    let read = written.read(move |raw| {
        let list = listed_from_json(raw).map_err(|why| Problem::from(&why))?;
        let read = |raw| complete(&ids, submission_from_json, raw, trace.as_deref());
        Ok(list.into_iter().map(read).collect::<Vec<_>>())
    });
    let submissions = read.await?;
    let run = |submission: &Result<Submission, Malformed>| run_of(submission.as_ref().ok()?);
    let runs: Vec<Option<String>> = submissions.iter().map(run).collect();
    let submitted = rest.desk.submit(submissions).await?;
    let result = |(submitted, run): (Submitted, Option<String>)| match submitted {
        Ok(accepted) => {
            SubmissionResult { accepted: Some(Accepted::new(accepted, run)), problem: None }
        }
        Err(why) => SubmissionResult { accepted: None, problem: Some(why.into()) },
    };
    Ok(Json(submitted.into_iter().zip(runs).map(result).collect()))
}

type Read = fn(&RawValue, &mut dyn FnMut() -> JobId) -> Result<SubmissionDraft, Malformed>;

async fn one(
    rest: &Rest,
    written: Written,
    trace: Option<String>,
    read: Read,
) -> Result<Accepted, Problem> {
    let ids = rest.desk.ids.clone();
    let read = written.read(move |raw| {
        complete(&ids, read, raw, trace.as_deref()).map_err(|why| Problem::from(&why))
    });
    taken(rest, read.await?).await
}

async fn taken(rest: &Rest, submission: Submission) -> Result<Accepted, Problem> {
    let run = run_of(&submission);
    let submitted = rest.desk.submit(vec![Ok(submission)]).await?.pop();
    let accepted = submitted.expect("the desk answers every submission")?;
    Ok(Accepted::new(accepted, run))
}

/// One step after the other, so that everybody else's come in between.
async fn in_steps(rest: Rest, plan: Plan, trace: Option<String>) -> Result<Accepted, Problem> {
    let run = plan.run().map(RunId::to_string).unwrap_or_default();
    let count = plan.jobs() as u64;
    let ids = rest.desk.ids.clone();
    let mut last = v1::Accepted { known: true, ..Default::default() };
    for step in plan.steps().map_err(|why| Problem::from(&why))? {
        let step = step.map_err(|why| Problem::from(&why))?;
        let mut submission = step.complete(&mut || ids.generate());
        context::adopt(&mut submission, trace.as_deref());
        let submitted = rest.desk.submit(vec![Ok(submission)]).await?.pop();
        let accepted = submitted.expect("the desk answers every submission")?;
        last = v1::Accepted { known: last.known && accepted.known, ..accepted };
    }
    Ok(Accepted::in_steps(run, count, last))
}

fn whole(ids: &JobIds, plan: Plan, trace: Option<&str>) -> Result<Submission, Malformed> {
    let mut submission = plan.whole()?.complete(&mut || ids.generate());
    context::adopt(&mut submission, trace);
    Ok(submission)
}

fn run_of(submission: &Submission) -> Option<String> {
    submission.run.as_ref().map(RunId::to_string)
}

fn complete(
    ids: &JobIds,
    read: Read,
    raw: &RawValue,
    trace: Option<&str>,
) -> Result<Submission, Malformed> {
    let generate = &mut || ids.generate();
    let mut submission = read(raw, generate)?.complete(generate);
    context::adopt(&mut submission, trace);
    Ok(submission)
}

fn created(accepted: Accepted, location: HeaderValue) -> Response {
    let status = if accepted.known { StatusCode::OK } else { StatusCode::CREATED };
    (status, [(header::LOCATION, location)], Json(accepted)).into_response()
}
