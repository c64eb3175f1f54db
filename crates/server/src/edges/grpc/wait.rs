//! Waiting for jobs to end.

use std::pin::Pin;

use bellwether_core::model::JobId;
use bellwether_wire::rejection::Kind;
use bellwether_wire::{Malformed, v1};
use tokio::sync::mpsc;
use tokio_stream::{Stream, wrappers::ReceiverStream};
use tonic::Status;

use super::status::status;
use crate::edges::contain;
use crate::edges::desk::{Desk, Unanswered};
use crate::edges::rest::Problem;
use crate::event_loop::Ended;

/// Jobs that one call may be about.
const IDS_MAX: usize = 100_000;
/// Jobs in one message.
const MESSAGE_JOBS_MAX: usize = 1_000;
/// Messages that may wait for the client to read them.
const MESSAGES_MAX: usize = 4;

type Answers = Pin<Box<dyn Stream<Item = Result<v1::WaitJobsResponse, Status>> + Send>>;

pub(super) fn check_count(ids: &[String]) -> Result<(), Status> {
    if ids.len() > IDS_MAX {
        let text = format!("{} ids; at most {IDS_MAX} are allowed", ids.len());
        return Err(Problem::of(Kind::Malformed, "too_many", text).into());
    }
    Ok(())
}

pub(super) async fn wait_jobs(
    desk: &Desk,
    ids: Vec<String>,
    progress: bool,
) -> Result<Answers, Status> {
    check_count(&ids)?;
    let names: Vec<JobId> = ids
        .iter()
        .map(|id| JobId::new(id).map_err(|why| status(&Malformed::new("ids", why))))
        .collect::<Result<_, _>>()?;
    let (told, ends) = mpsc::unbounded_channel();
    let started = desk.handle.wait_for(names, progress, told).await.map_err(status)?;
    if !started.not_waited_for.is_empty() {
        desk.registry.reach(started.seq).await.map_err(status)?;
    }
    let mut ended = Vec::new();
    for id in started.not_waited_for {
        let found = desk.registry.job(id.to_string()).await.map_err(status)?;
        let found = found.ok_or_else(|| status(Unanswered::UnknownJob { id: id.to_string() }))?;
        ended.push(desk.shown().job(found));
    }
    // One more for the last word.
    let (sender, receiver) = mpsc::channel(MESSAGES_MAX + 1);
    contain::spawn("WaitJobs", send(desk.clone(), ended, ends, sender));
    Ok(Box::pin(ReceiverStream::new(receiver)))
}

/// What has ended waits until it is taken, so one that takes nothing is told, counted and cut off.
async fn send(
    desk: Desk,
    ended: Vec<v1::Job>,
    mut ends: mpsc::UnboundedReceiver<Ended>,
    answers: mpsc::Sender<Result<v1::WaitJobsResponse, Status>>,
) {
    let mut jobs = ended;
    let mut buffer = Vec::new();
    let Ok(last_word) = answers.clone().reserve_owned().await else { return };
    loop {
        if !jobs.is_empty() {
            let rest = jobs.split_off(jobs.len().min(MESSAGE_JOBS_MAX));
            let response = v1::WaitJobsResponse { jobs: std::mem::replace(&mut jobs, rest) };
            match desk.audience.within(answers.send(Ok(response))).await {
                Some(Ok(())) => continue,
                Some(Err(_)) => return,
                None => return drop(last_word.send(Err(status(Unanswered::TooSlow)))),
            }
        }
        tokio::select! {
            // The senders are gone once the last job has ended, or if the loop forgot them all.
            received = ends.recv_many(&mut buffer, MESSAGE_JOBS_MAX) => {
                if received == 0 {
                    return;
                }
            }
            () = answers.closed() => return,
        }
        for ended in buffer.drain(..) {
            match desk.ended_job(&ended).await {
                Ok(job) => jobs.push(job),
                Err(why) => return drop(last_word.send(Err(status(why)))),
            }
        }
    }
}
