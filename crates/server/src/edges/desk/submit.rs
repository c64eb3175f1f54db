//! Submissions: each is taken or refused by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bellwether_cluster::MemberId;
use bellwether_core::model::{Epoch, JobId, JobNo, KeysSeen, RunId, Seq, Submission, Timestamp};
use bellwether_core::{Answer, Command, Rejection};
use bellwether_wire::job::submission_from_wire;
use bellwether_wire::json::expand_keys;
use bellwether_wire::{Malformed, v1};
use rustc_hash::FxHashSet;
use tokio::sync::oneshot;

use super::Desk;
use super::unanswered::Refused;
use crate::edges::explain::Refusals;
use crate::event_loop::clock;
use crate::event_loop::{Settled, Unavailable};
use crate::sinks::trace::context;

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

    /// Of a scheduler among several: nobody else starts at the same moment under its number.
    pub(crate) fn of_member(member: MemberId, at: Timestamp) -> JobIds {
        JobIds { prefix: format!("job-m{member}-{:x}-", at.0).into(), next: Arc::default() }
    }

    pub(crate) fn generate(&self) -> JobId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        JobId::fixed(&format!("{}{number}", self.prefix))
    }
}

/// What became of a submission.
pub(crate) type Submitted = Result<v1::Accepted, Refused>;

/// Submissions on their way to the loop.
pub(crate) struct Pending {
    /// For each in order: why it could not be read, or what to answer with.
    sent: Vec<Result<Sent, Malformed>>,
    settled: oneshot::Receiver<Result<Vec<Settled>, Unavailable>>,
}

struct Sent {
    run: Option<RunId>,
    ids: Vec<JobId>,
    /// A copy to try again with, if it depends on jobs that the core may have forgotten.
    again: Option<Box<Submission>>,
}

impl Desk {
    /// What came as protobuf, in a request of this trace. One that can't be read is remembered by
    /// the ids that it came with.
    pub(crate) fn read_submissions(
        &self,
        wire: &[v1::Submission],
        trace: Option<&str>,
    ) -> Vec<Result<Submission, Malformed>> {
        let read = |wire: &v1::Submission| {
            let read = submission_from_wire(wire, &mut || self.ids.generate());
            let mut submission = read.inspect_err(|why| {
                let jobs = wire.jobs.iter().map(|job| job.id.as_str());
                let ids = Refusals::ids(&wire.run_id, jobs);
                self.refusals.note(ids, v1::Rejection::from(why), clock::wall());
            })?;
            context::adopt(&mut submission, trace);
            Ok(submission)
        };
        wire.iter().map(read).collect()
    }

    pub(crate) async fn submit(
        &self,
        submissions: Vec<Result<Submission, Malformed>>,
    ) -> Result<Vec<Submitted>, Unavailable> {
        self.send_submissions(submissions).await?.answer(self).await
    }

    /// Sent in the order of the calls; the answer comes later. What could not be read is answered
    /// in its place.
    pub(crate) async fn send_submissions(
        &self,
        read: Vec<Result<Submission, Malformed>>,
    ) -> Result<Pending, Unavailable> {
        if self.disk.is_exceeded() {
            return Err(Unavailable::DiskMax);
        }
        let mut commands = Vec::with_capacity(read.len());
        let mut sent = Vec::with_capacity(read.len());
        for submission in read {
            let expanded = submission.and_then(|mut submission| {
                expand_keys(&mut submission)?;
                Ok(submission)
            });
            sent.push(expanded.map(|mut submission| {
                submission.keys = self.look_for_keys(&submission);
                let ids = submission.jobs.iter().map(|job| job.id.clone()).collect();
                let reaches_out = !outside(&submission).is_empty();
                let again = reaches_out.then(|| Box::new(submission.clone()));
                let run = submission.run.clone();
                commands.push(Command::Submit(submission));
                Sent { run, ids, again }
            }));
        }
        let settled = self.handle.send_commands(commands).await?;
        Ok(Pending { sent, settled })
    }

    /// What is known of keys that the core may have forgotten. Without that it takes no new ones once
    /// its memory is full.
    fn look_for_keys(&self, submission: &Submission) -> KeysSeen {
        self.keys.look(submission).unwrap_or_else(|error| {
            tracing::error!(%error, "idempotency keys were not looked for");
            KeysSeen::default()
        })
    }

    /// The ids of known jobs; empty for what neither the core nor the history knows.
    async fn known_ids(&self, jobs: &[JobNo], known: Vec<Option<JobId>>) -> Vec<String> {
        let mut ids = Vec::with_capacity(jobs.len());
        for (no, id) in jobs.iter().zip(known) {
            ids.push(match id {
                Some(id) => id.to_string(),
                None => match self.registry.names(vec![*no], Vec::new()).await {
                    Ok((mut names, _)) => names.pop().map(|names| names.id).unwrap_or_default(),
                    Err(error) => {
                        tracing::warn!(%error, "the id of a known job could not be looked up");
                        String::new()
                    }
                },
            });
        }
        ids
    }

    /// Tries again with what the registry knows of dependencies that the core has forgotten. None
    /// if that is nothing new.
    async fn submit_with_history(&self, mut submission: Submission, seen: Seq) -> Option<Settled> {
        let ids = outside(&submission);
        let known = async {
            self.registry.reach(seen).await?;
            self.registry.settlements(ids).await
        };
        match known.await {
            Ok(settled) if settled.is_empty() => None,
            Ok(settled) => {
                submission.settled = settled;
                self.handle.command(vec![Command::Submit(submission)]).await.ok()?.pop()
            }
            Err(error) => {
                tracing::warn!(%error, "forgotten dependencies could not be looked up");
                None
            }
        }
    }
}

impl Pending {
    pub(crate) async fn answer(self, desk: &Desk) -> Result<Vec<Submitted>, Unavailable> {
        let settled = self.settled.await.unwrap_or(Err(Unavailable::ShuttingDown));
        let mut settled = settled?.into_iter();
        let mut results = Vec::with_capacity(self.sent.len());
        for sent in self.sent {
            results.push(match sent {
                Err(why) => Err(Refused::Malformed(why)),
                Ok(sent) => {
                    let settled = settled.next().expect("the loop answers every submission");
                    sent.answer(settled, desk).await
                }
            });
        }
        Ok(results)
    }
}

impl Sent {
    async fn answer(self, mut settled: Settled, desk: &Desk) -> Submitted {
        if let Some(again) = self.again
            && matches!(settled.result, Err(Rejection::UnknownDependency { .. }))
            && let Some(anew) = desk.submit_with_history(*again, settled.seq).await
        {
            settled = anew;
        }
        submitted(&self.ids, settled, desk).await.inspect_err(|why| {
            let run = self.run.as_ref().map_or("", RunId::as_str);
            let ids = Refusals::ids(run, self.ids.iter().map(JobId::as_str));
            desk.refusals.note(ids, v1::Rejection::from(why), clock::wall());
        })
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

async fn submitted(ids: &[JobId], Settled { seq, result }: Settled, desk: &Desk) -> Submitted {
    let Answer::Submitted { jobs, known, throttle } = result? else {
        unreachable!("a submission is answered with its jobs")
    };
    let is_known = known.is_some();
    let ids = match known {
        Some(known) => desk.known_ids(&jobs, known).await,
        None => ids.iter().map(JobId::to_string).collect(),
    };
    let refs = jobs.iter().zip(ids).map(|(no, id)| v1::JobRef { job: no.0, id }).collect();
    let throttle = throttle.map(|throttle| v1::Throttle {
        filled_percent: throttle.filled_percent,
        pause: throttle.pause.0,
    });
    Ok(v1::Accepted { jobs: refs, known: is_known, position: seq.0, throttle })
}
