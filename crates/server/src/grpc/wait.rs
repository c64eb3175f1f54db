//! Waiting for jobs to end.

use std::pin::Pin;

use bellwether_core::model::{JobId, Name};
use bellwether_wire::{Malformed, v1};
use tokio::sync::mpsc;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::{Code, Status};

use super::job_view::{ended_view, job_in_state};
use super::status::{malformed, refused, unavailable};
use crate::scheduler::{Ended, Handle, Unavailable};

/// Jobs that one call may wait for.
const IDS_MAX: usize = 100_000;
/// Jobs in one message.
const MESSAGE_JOBS_MAX: usize = 1_000;
/// Messages that may wait for the client to read them.
const MESSAGES_MAX: usize = 4;

type Answers = Pin<Box<dyn Stream<Item = Result<v1::WaitJobsResponse, Status>> + Send>>;

pub(super) async fn wait_jobs(
    handle: Handle,
    ids: Vec<String>,
    progress: bool,
) -> Result<Answers, Status> {
    if ids.len() > IDS_MAX {
        let text = format!("{} ids; at most {IDS_MAX} are allowed", ids.len());
        return Err(refused(Code::InvalidArgument, "too_many", text));
    }
    let names: Vec<JobId> = ids
        .iter()
        .map(|id| Name::new(id).map_err(|why| malformed(&Malformed::new("ids", why))))
        .collect::<Result<_, _>>()?;
    let (told, ends) = mpsc::unbounded_channel();
    let started = handle.wait_for(names, progress, told).await.map_err(unavailable)?;
    let mut ended = Vec::new();
    for id in started.not_waited_for {
        ended.push(known(&handle, id).await?);
    }
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
    tokio::spawn(send(ended, ends, sender));
    Ok(Box::pin(ReceiverStream::new(receiver)))
}

/// A job that has ended before anybody waited for it.
async fn known(handle: &Handle, id: JobId) -> Result<v1::Job, Status> {
    let asked = id.clone();
    let seen = handle.ask(move |view| job_in_state(view.state, asked.as_str())).await;
    let missing = || refused(Code::NotFound, "unknown_job", format!("job {id} is not known"));
    seen.map_err(unavailable)?.ok_or_else(missing)
}

async fn send(
    ended: Vec<v1::Job>,
    mut ends: mpsc::UnboundedReceiver<Ended>,
    answers: mpsc::Sender<Result<v1::WaitJobsResponse, Status>>,
) {
    let mut jobs = ended;
    let mut buffer = Vec::new();
    loop {
        if !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(MESSAGE_JOBS_MAX));
            let response = v1::WaitJobsResponse { jobs: std::mem::replace(&mut jobs, rest) };
            if answers.send(Ok(response)).await.is_err() {
                return;
            }
            continue;
        }
        // The senders are gone once the last job has ended, or if the loop forgot them all.
        if ends.recv_many(&mut buffer, MESSAGE_JOBS_MAX).await == 0 {
            return;
        }
        jobs.extend(buffer.drain(..).map(|ended| ended_view(&ended)));
    }
}

impl From<Unavailable> for Status {
    fn from(why: Unavailable) -> Status {
        unavailable(why)
    }
}
