//! Jobs in. A message is acknowledged once its job is durable, or set aside if it never can be; in
//! between it is held, and nothing more is read while too much is held.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bellwether_brokers::{Channel, Delivery, Settlement};
use bellwether_core::Rejection;
use bellwether_core::model::{JobSpec, Micros, Submission};
use bellwether_wire::rejection::{code, retry_after};
use tokio::sync::mpsc;

use super::identity::{Unreadable, submission};
use super::{Queue, REFUSED_PAUSE, Sent, latecomers};
use crate::edges::contain::contain;
use crate::edges::desk::{Pending, Refused, Submitted};
use crate::event_loop::{Unavailable, View};
use crate::sinks::metrics::QueueCounts;

/// Messages that are submitted together.
const BATCH_MESSAGES_MAX: usize = 1_024;
/// Batches that wait to be durable while the next one is read.
const BATCHES_IN_FLIGHT_MAX: usize = 4;
/// The longest pause that a scheduler which fills up asks for.
const THROTTLE_MAX: Duration = Duration::from_secs(1);

/// Messages whose readable part is on its way to the loop.
pub(super) struct Batch {
    readable: Vec<Delivery>,
    unreadable: Vec<(Delivery, Unreadable)>,
    pending: Result<Pending, Unavailable>,
}

pub(super) async fn take(queue: Queue) {
    let (batches, settling) = mpsc::channel(BATCHES_IN_FLIGHT_MAX);
    let settler = tokio::spawn(settle_batches(queue.clone(), settling));
    tokio::select! {
        () = read_batches(&queue, batches) => {}
        () = queue.stopped() => {}
    }
    if settler.await.is_err() {
        tracing::error!(queue = %queue.name, "messages may have been left unsettled");
    }
}

async fn read_batches(queue: &Queue, batches: mpsc::Sender<Batch>) {
    loop {
        // Nothing is read that could not be handed on.
        let Ok(permit) = batches.reserve().await else { return };
        match queue.broker.receive(&Channel::Jobs, BATCH_MESSAGES_MAX).await {
            Ok(deliveries) => {
                QueueCounts::add(&queue.counts.held, deliveries.len());
                permit.send(submit(queue, deliveries).await);
            }
            Err(error) => {
                queue.failed();
                tracing::error!(queue = %queue.name, %error, "no jobs can be read");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
}

pub(super) async fn submit(queue: &Queue, deliveries: Vec<Delivery>) -> Batch {
    let mut submissions = Vec::with_capacity(deliveries.len());
    let mut readable = Vec::with_capacity(deliveries.len());
    let mut unreadable = Vec::new();
    for delivery in deliveries {
        match read(queue, &delivery) {
            Ok(submission) => {
                submissions.push(Ok(submission));
                readable.push(delivery);
            }
            Err(why) => unreadable.push((delivery, why)),
        }
    }
    let pending = queue.desk.send_submissions(submissions).await;
    Batch { readable, unreadable, pending }
}

fn read(queue: &Queue, delivery: &Delivery) -> Result<Submission, Unreadable> {
    let generate = &mut || queue.desk.ids.generate();
    let what = Sent { channel: "a message", queue: &queue.name, body: &delivery.body };
    let read = || submission(&queue.name, delivery, queue.broker.promises(), generate);
    contain(&what, read).unwrap_or(Err(Unreadable::Panicked))
}

async fn settle_batches(queue: Queue, mut batches: mpsc::Receiver<Batch>) {
    while let Some(batch) = batches.recv().await {
        let (deliveries, answers) = batch.answered(&queue).await;
        settle_answered(&queue, deliveries, answers).await;
    }
}

impl Batch {
    /// Sets aside what could not be read, and waits for the answers to the rest.
    pub(super) async fn answered(
        self,
        queue: &Queue,
    ) -> (Vec<Delivery>, Result<Vec<Submitted>, Unavailable>) {
        let unreadable = self.unreadable.into_iter().map(|(delivery, why)| dead(delivery, &why));
        settle(queue, unreadable.collect()).await;
        let answers = match self.pending {
            Ok(pending) => pending.answer(&queue.desk).await,
            Err(why) => Err(why),
        };
        (self.readable, answers)
    }
}

/// Settles what is decided and tries the rest again, until all of it is.
async fn settle_answered(
    queue: &Queue,
    mut deliveries: Vec<Delivery>,
    mut answers: Result<Vec<Submitted>, Unavailable>,
) {
    loop {
        let (held, pause) = match answers {
            Ok(answers) => {
                let (settlements, held, pause) = decide(queue, deliveries, answers).await;
                settle(queue, settlements).await;
                (held, pause)
            }
            Err(why) => {
                tracing::debug!(queue = %queue.name, %why, "jobs are held");
                (deliveries, duration(why.retry_after()))
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = queue.stopped() => {
                let release = held.into_iter().map(|delivery| Settlement::Release(delivery.receipt));
                return settle(queue, release.collect()).await;
            }
        }
        if held.is_empty() {
            return;
        }
        let batch = submit(queue, held).await;
        (deliveries, answers) = batch.answered(queue).await;
    }
}

/// What becomes of each message: its settlement, or it is held for at least so long.
async fn decide(
    queue: &Queue,
    deliveries: Vec<Delivery>,
    answers: Vec<Submitted>,
) -> (Vec<Settlement>, Vec<Delivery>, Duration) {
    let mut settlements = Vec::with_capacity(deliveries.len());
    let mut held = Vec::new();
    let mut pause = Duration::ZERO;
    for (delivery, answer) in deliveries.into_iter().zip(answers) {
        match answer {
            Ok(accepted) => {
                if let Some(throttle) = accepted.throttle {
                    pause = pause.max(Duration::from_micros(throttle.pause).min(THROTTLE_MAX));
                }
                settlements.push(Settlement::Done(delivery.receipt));
            }
            Err(Refused::Rejected(rejection)) if retry_after(&rejection).is_some() => {
                let after = retry_after(&rejection).map_or(Duration::ZERO, duration);
                pause = pause.max(after);
                held.push(delivery);
            }
            Err(Refused::Rejected(rejection)) if may_be_repeated(&rejection) => {
                match is_known(queue, &delivery).await {
                    Ok(true) => settlements.push(Settlement::Done(delivery.receipt)),
                    Ok(false) => settlements.push(refused(delivery, &rejection)),
                    Err(why) => {
                        pause = pause.max(duration(why.retry_after()));
                        held.push(delivery);
                    }
                }
            }
            Err(Refused::Rejected(rejection)) => {
                let unknown = matches!(rejection, Rejection::UnknownDependency { .. });
                match queue.place_aside().filter(|_| unknown) {
                    Some(place) => {
                        drop(tokio::spawn(latecomers::wait(queue.clone(), delivery, place)));
                    }
                    None => settlements.push(refused(delivery, &rejection)),
                }
            }
            Err(Refused::Malformed(why)) => settlements.push(dead(delivery, &why)),
        }
    }
    (settlements, held, pause)
}

pub(super) fn refused(delivery: Delivery, rejection: &Rejection) -> Settlement {
    dead(delivery, &format_args!("{}: {rejection}", code(rejection)))
}

pub(super) fn dead(delivery: Delivery, why: &dyn std::fmt::Display) -> Settlement {
    let error = why.to_string();
    tracing::warn!(id = delivery.id.as_ref().map(|id| id.as_str()), %error, "a message is set aside");
    Settlement::DeadLetter { delivery: Box::new(delivery), error }
}

/// What is not settled comes again, and is then known.
pub(super) async fn settle(queue: &Queue, settlements: Vec<Settlement>) {
    if settlements.is_empty() {
        return;
    }
    count(queue, &settlements);
    if let Err(error) = queue.broker.settle(settlements).await {
        queue.failed();
        tracing::warn!(queue = %queue.name, %error, "messages will be delivered again");
    }
}

fn count(queue: &Queue, settlements: &[Settlement]) {
    let counts = &queue.counts;
    counts.held.fetch_sub(settlements.len() as u64, Ordering::Relaxed);
    let of = |wanted: fn(&Settlement) -> bool| settlements.iter().filter(|s| wanted(s)).count();
    QueueCounts::add(&counts.taken, of(|s| matches!(s, Settlement::Done(_))));
    QueueCounts::add(&counts.dead_lettered, of(|s| matches!(s, Settlement::DeadLetter { .. })));
}

/// The ids are taken, perhaps by this very message.
pub(super) fn may_be_repeated(rejection: &Rejection) -> bool {
    matches!(
        rejection,
        Rejection::DuplicateJob { .. }
            | Rejection::DuplicateRun { .. }
            | Rejection::KeyTaken { .. }
    )
}

/// Whether every job of the message is there already, with the same content.
pub(super) async fn is_known(queue: &Queue, delivery: &Delivery) -> Result<bool, Unavailable> {
    let Ok(submission) = read(queue, delivery) else { return Ok(false) };
    queue.desk.handle.ask(move |view| all_known(view, &submission)).await
}

fn all_known(view: &View<'_>, submission: &Submission) -> bool {
    submission.jobs.iter().all(|job| is_same(view, job))
}

fn is_same(view: &View<'_>, job: &JobSpec) -> bool {
    let known = view.state.job_no(job.id.as_str()).and_then(|no| view.state.job(no));
    known.is_some_and(|known| {
        let spec = &known.spec;
        spec.requirements == job.requirements
            && spec.payload == job.payload
            && spec.guarantee == job.guarantee
            && spec.node == job.node
            && spec.sender == job.sender
            && spec.tags == job.tags
    })
}

fn duration(span: Micros) -> Duration {
    Duration::from_micros(span.0)
}
