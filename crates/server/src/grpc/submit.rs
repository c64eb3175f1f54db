//! Submissions, one request or a stream of them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_core::Rejection;
use bellwether_core::model::{Epoch, JobId, JobNo, Name, Seq, Submission};
use bellwether_wire::rejection::rejection_to_wire;
use bellwether_wire::submission::submission_from_wire;
use bellwether_wire::{Malformed, v1};
use rustc_hash::FxHashSet;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Status, Streaming};

use super::status::unavailable;
use crate::registry::Registry;
use crate::scheduler::{Handle, Taken, Unavailable};

/// Requests of one stream that may wait for their answers.
const STREAM_REQUESTS_MAX: usize = 64;

pub(super) type Responses = Pin<Box<dyn Stream<Item = Result<v1::SubmitResponse, Status>> + Send>>;

/// Gives ids to jobs that have none.
#[derive(Debug, Clone)]
pub(crate) struct JobIds {
    prefix: Arc<str>,
    next: Arc<AtomicU64>,
}

impl JobIds {
    /// No other reign generates ids with the same start; the salt keeps them apart from ids that
    /// people make up.
    pub(crate) fn new(epoch: Epoch, salt: u32) -> JobIds {
        let prefix = format!("job-{epoch}-{:04x}-", salt & 0xffff).into();
        JobIds { prefix, next: Arc::default() }
    }

    fn generate(&self) -> JobId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Name::fixed(&format!("{}{number}", self.prefix))
    }
}

/// A request whose readable part is on its way to the loop.
pub(super) struct Request {
    /// For each submission in order: why it could not be read, or what to answer with.
    read: Vec<Result<Readable, Malformed>>,
    submissions: Vec<Submission>,
}

struct Readable {
    ids: Vec<JobId>,
    /// A copy to try again with, if it depends on jobs that the core may have forgotten.
    again: Option<Box<Submission>>,
}

impl Request {
    pub(super) fn read(wire: v1::SubmitRequest, ids: &JobIds) -> Request {
        let mut submissions = Vec::with_capacity(wire.submissions.len());
        let read = wire
            .submissions
            .into_iter()
            .enumerate()
            .map(|(index, submission)| {
                let submission = submission_from_wire(submission, &mut || ids.generate())
                    .map_err(|why| why.within(format_args!("submissions[{index}]")))?;
                let ids = submission.jobs.iter().map(|job| job.id.clone()).collect();
                let reaches_out = !outside(&submission).is_empty();
                let again = reaches_out.then(|| Box::new(submission.clone()));
                submissions.push(submission);
                Ok(Readable { ids, again })
            })
            .collect();
        Request { read, submissions }
    }

    fn split(self) -> (Vec<Submission>, Pending) {
        (self.submissions, Pending { read: self.read })
    }
}

/// Dependencies on jobs that are not part of the submission.
fn outside(submission: &Submission) -> Vec<JobId> {
    let depends = submission.jobs.iter().any(|job| !job.dependencies.is_empty());
    if !depends {
        return Vec::new();
    }
    let inside: FxHashSet<&JobId> = submission.jobs.iter().map(|job| &job.id).collect();
    let dependencies = submission.jobs.iter().flat_map(|job| &job.dependencies);
    dependencies.filter(|id| !inside.contains(id)).cloned().collect()
}

struct Pending {
    read: Vec<Result<Readable, Malformed>>,
}

impl Pending {
    async fn answer(self, submitter: &Submitter, taken: Vec<Taken>) -> v1::SubmitResponse {
        let mut taken = taken.into_iter();
        let mut results = Vec::with_capacity(self.read.len());
        for read in self.read {
            results.push(match read {
                Err(why) => rejected(v1::Rejection::from(&why)),
                Ok(Readable { ids, again }) => {
                    let mut taken = taken.next().expect("the loop answers every submission");
                    if let Some(again) = again
                        && matches!(taken.result, Err(Rejection::UnknownDependency { .. }))
                        && let Some(retaken) = submitter.with_history(*again, taken.seq).await
                    {
                        taken = retaken;
                    }
                    result(ids, taken)
                }
            });
        }
        v1::SubmitResponse { results }
    }
}

/// What submissions need.
#[derive(Debug, Clone)]
pub(crate) struct Submitter {
    pub(crate) handle: Handle,
    pub(crate) ids: JobIds,
    pub(crate) registry: Registry,
}

impl Submitter {
    /// Tries again with what the registry knows of dependencies that the core has forgotten. None
    /// if that is nothing new.
    async fn with_history(&self, mut submission: Submission, seen: Seq) -> Option<Taken> {
        let ids = outside(&submission);
        let known = async {
            self.registry.reach(seen).await?;
            self.registry.settlements(ids).await
        };
        match known.await {
            Ok(settled) if settled.is_empty() => None,
            Ok(settled) => {
                submission.settled = settled;
                self.handle.submit(vec![submission]).await.ok()?.pop()
            }
            Err(error) => {
                tracing::warn!(%error, "forgotten dependencies could not be looked up");
                None
            }
        }
    }
}

pub(super) async fn submit(
    submitter: &Submitter,
    request: v1::SubmitRequest,
) -> Result<v1::SubmitResponse, Unavailable> {
    let (submissions, pending) = Request::read(request, &submitter.ids).split();
    let taken = submitter.handle.submit(submissions).await?;
    Ok(pending.answer(submitter, taken).await)
}

pub(super) fn submit_stream(
    submitter: Submitter,
    requests: Streaming<v1::SubmitRequest>,
) -> Responses {
    let (sender, receiver) = mpsc::channel(STREAM_REQUESTS_MAX);
    tokio::spawn(forward(submitter.clone(), requests, sender));
    let responses = ReceiverStream::new(receiver).then(move |sent: Result<Sent, Status>| {
        let submitter = submitter.clone();
        async move {
            let (pending, answer) = sent?;
            let taken = answer.await.unwrap_or(Err(Unavailable::ShuttingDown));
            Ok(pending.answer(&submitter, taken.map_err(unavailable)?).await)
        }
    });
    Box::pin(responses)
}

type Sent = (Pending, oneshot::Receiver<Result<Vec<Taken>, Unavailable>>);

/// Hands requests to the loop in order, as long as somebody takes the answers.
async fn forward(
    Submitter { handle, ids, .. }: Submitter,
    mut requests: Streaming<v1::SubmitRequest>,
    answers: mpsc::Sender<Result<Sent, Status>>,
) {
    loop {
        let Ok(permit) = answers.reserve().await else { return };
        let request = match requests.message().await {
            Ok(Some(request)) => Request::read(request, &ids),
            Ok(None) => return,
            Err(status) => return permit.send(Err(status)),
        };
        let (submissions, pending) = request.split();
        match handle.send_submissions(submissions).await {
            Ok(answer) => permit.send(Ok((pending, answer))),
            Err(why) => return permit.send(Err(unavailable(why))),
        }
    }
}

fn result(ids: Vec<JobId>, Taken { seq, result }: Taken) -> v1::SubmitResult {
    match result {
        Err(rejection) => rejected(rejection_to_wire(&rejection)),
        Ok(taken) => {
            let known = taken.known.is_some();
            let jobs = job_refs(&taken.jobs, taken.known.as_ref().unwrap_or(&ids));
            let throttle = taken.throttle.map(|throttle| v1::Throttle {
                filled_percent: throttle.filled_percent,
                pause: throttle.pause.0,
            });
            accepted(jobs, known, seq, throttle)
        }
    }
}

fn job_refs(numbers: &[JobNo], ids: &[JobId]) -> Vec<v1::JobRef> {
    let ids = ids.iter().map(Name::to_string).chain(std::iter::repeat(String::new()));
    numbers.iter().zip(ids).map(|(no, id)| v1::JobRef { job: no.0, id }).collect()
}

fn accepted(
    jobs: Vec<v1::JobRef>,
    known: bool,
    seq: Seq,
    throttle: Option<v1::Throttle>,
) -> v1::SubmitResult {
    let accepted = v1::Accepted { jobs, known, position: seq.0, throttle };
    v1::SubmitResult { result: Some(v1::submit_result::Result::Accepted(accepted)) }
}

fn rejected(rejection: v1::Rejection) -> v1::SubmitResult {
    v1::SubmitResult { result: Some(v1::submit_result::Result::Rejection(rejection)) }
}
