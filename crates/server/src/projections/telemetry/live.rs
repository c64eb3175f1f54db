//! Jobs that have not ended, with what happened to them: events speak in numbers, and those who
//! watch want to know of what type a job was, when it came and what was predicted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bellwether_core::model::table::Table;
use bellwether_core::model::{
    JobNo, JobSpec, Micros, Phase, RunId, Timestamp, Token, WorkerNo, WorkerSpec,
};
use bellwether_core::{Entry, Event, JobState, State};

use super::sighting::{JobEnd, OfferEnd, Sighting};

/// Jobs that ended without completing and are remembered, because they may be reopened.
const ENDED_MAX: usize = 10_000;
/// Workers whose names are remembered; the first to come are forgotten first.
const WORKERS_MAX: usize = 20_000;

#[derive(Debug)]
pub(crate) struct LiveJob {
    pub(crate) no: JobNo,
    pub(crate) spec: Arc<JobSpec>,
    pub(crate) run: Option<RunId>,
    pub(crate) submitted_at: Timestamp,
    /// Since when it could have been placed, dependencies aside.
    pub(crate) queued_at: Timestamp,
    /// Offers so far, hedges not counted.
    pub(crate) attempts: u32,
    pub(crate) offers: Vec<LiveOffer>,
}

#[derive(Debug, Clone)]
pub(crate) struct LiveOffer {
    pub(crate) token: Token,
    /// None if it is forgotten.
    pub(crate) worker: Option<Arc<WorkerSpec>>,
    pub(crate) number: u32,
    pub(crate) hedge: bool,
    pub(crate) offered_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) predicted: Micros,
}

/// As many jobs as the scheduler keeps that have not ended, and the workers that it remembers.
#[derive(Debug, Default)]
pub(crate) struct Live {
    jobs: Table<JobNo, LiveJob>,
    ended: VecDeque<LiveJob>,
    workers: Workers,
}

pub(crate) type Workers = BTreeMap<WorkerNo, Arc<WorkerSpec>>;

impl LiveJob {
    fn new(no: JobNo, spec: Arc<JobSpec>, run: Option<RunId>, at: Timestamp) -> LiveJob {
        let queued_at = at.max(spec.not_before);
        let offers = Vec::new();
        LiveJob { no, spec, run, submitted_at: at, queued_at, attempts: 0, offers }
    }
}

impl Live {
    pub(crate) fn of(state: &State) -> Live {
        let mut live = Live::default();
        for (no, worker) in state.workers() {
            live.add_worker(no, &worker.spec);
        }
        for (no, job) in state.jobs() {
            if matches!(job.state, JobState::Completed { .. }) {
                continue;
            }
            let run = job.run.and_then(|run| state.run(run)).map(|run| run.id.clone());
            let offers: Vec<LiveOffer> = job
                .offers()
                .iter()
                .map(|attempt| LiveOffer {
                    token: attempt.token,
                    worker: live.workers.get(&attempt.worker).cloned(),
                    number: job.attempts,
                    hedge: attempt.hedge,
                    offered_at: attempt.offered_at,
                    started_at: match attempt.phase {
                        Phase::Offered { .. } => None,
                        Phase::Running { since, .. } => Some(since),
                    },
                    predicted: attempt.predicted,
                })
                .collect();
            let mut known = LiveJob::new(no, job.spec.clone(), run, job.submitted_at);
            known.attempts = job.attempts;
            known.offers = offers;
            if job.state.has_ended() {
                live.remember(known);
            } else {
                live.jobs.insert(no, known);
            }
        }
        live
    }

    fn add_worker(&mut self, no: WorkerNo, spec: &Arc<WorkerSpec>) {
        self.workers.insert(no, spec.clone());
        if self.workers.len() > WORKERS_MAX {
            self.workers.pop_first();
        }
    }

    fn remember(&mut self, job: LiveJob) {
        self.ended.push_back(job);
        if self.ended.len() > ENDED_MAX {
            self.ended.pop_front();
        }
    }

    /// Takes in an event, and tells what it means for those who watch.
    pub(crate) fn see(&mut self, entry: &Entry, tell: &mut dyn FnMut(&Sighting<'_>)) {
        let at = entry.at;
        match &entry.event {
            Event::Submitted { run, first, jobs } => {
                let run = run.as_ref().map(|run| &run.id);
                for (no, spec) in (first.0..).map(JobNo).zip(jobs) {
                    let job = LiveJob::new(no, spec.clone(), run.cloned(), at);
                    tell(&Sighting::Submitted { job: &job });
                    self.jobs.insert(no, job);
                }
            }
            Event::Assigned { job, worker, hedge, decision } => {
                let Some(job) = self.jobs.get_mut(*job) else { return };
                job.attempts += u32::from(!hedge);
                job.offers.push(LiveOffer {
                    token: Token::from(entry.seq),
                    worker: self.workers.get(worker).cloned(),
                    number: job.attempts,
                    hedge: *hedge,
                    offered_at: at,
                    started_at: None,
                    predicted: decision.predicted_duration,
                });
                let offer = job.offers.last().expect("it was pushed a line ago");
                tell(&Sighting::Decided { job, offer, decision, workers: &self.workers });
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                let Some(job) = self.jobs.get_mut(*job) else { return };
                let found = job.offers.iter().position(|offer| offer.token == *token);
                let Some(found) = found else { return };
                if job.offers[found].started_at.is_none() {
                    job.offers[found].started_at = Some(at);
                    tell(&Sighting::Started { offer: &job.offers[found] });
                }
            }
            Event::Completed { job, token, result_hash, .. } => {
                self.end_offer(*job, *token, &OfferEnd::Completed { result_hash }, entry, tell);
                self.end_job(*job, JobEnd::Completed, entry, tell);
            }
            Event::AttemptFailed { job, token, cause, error } => {
                let end = OfferEnd::Failed { cause: *cause, error };
                self.end_offer(*job, *token, &end, entry, tell);
            }
            Event::Revoked { job, token, reason } => {
                self.end_offer(*job, *token, &OfferEnd::Revoked { reason: *reason }, entry, tell);
            }
            Event::Retried { job, not_before } => {
                let Some(job) = self.jobs.get_mut(*job) else { return };
                job.queued_at = at.max(*not_before);
                tell(&Sighting::Retried { job });
            }
            Event::Escalated { job, .. } => {
                let Some(job) = self.jobs.get_mut(*job) else { return };
                job.queued_at = at;
                tell(&Sighting::Escalated);
            }
            Event::DeadLettered { job, .. } => {
                self.end_job(*job, JobEnd::DeadLettered, entry, tell);
            }
            Event::Failed { job, .. } => self.end_job(*job, JobEnd::Failed, entry, tell),
            Event::Skipped { job, .. } => self.end_job(*job, JobEnd::Skipped, entry, tell),
            Event::Cancelled { job, .. } => self.end_job(*job, JobEnd::Cancelled, entry, tell),
            Event::Reopened { job } => self.reopen(*job, at),
            Event::WorkerJoined { worker, spec } => self.add_worker(*worker, spec),
            Event::PredictorFailed { .. } => tell(&Sighting::PredictorFailed),
            Event::BreakerOpened { .. } => tell(&Sighting::BreakerOpened),
            Event::DriftDetected { kind, .. } => tell(&Sighting::Drifted { kind }),
            Event::Progressed { .. }
            | Event::Due { .. }
            | Event::Pinned { .. }
            | Event::WorkerReturned { .. }
            | Event::WorkerReported { .. }
            | Event::WorkerDraining { .. }
            | Event::WorkerUndrained { .. }
            | Event::WorkerLost { .. }
            | Event::WorkerLeft { .. }
            | Event::ModelLoaded { .. }
            | Event::Paused { .. }
            | Event::Unpaused { .. }
            | Event::Configured { .. }
            | Event::BreakerClosed
            | Event::Warmed { .. } => {}
        }
    }

    fn end_offer(
        &mut self,
        job: JobNo,
        token: Token,
        end: &OfferEnd<'_>,
        entry: &Entry,
        tell: &mut dyn FnMut(&Sighting<'_>),
    ) {
        let Some(job) = self.jobs.get_mut(job) else { return };
        let Some(place) = job.offers.iter().position(|offer| offer.token == token) else { return };
        let offer = job.offers.remove(place);
        tell(&Sighting::OfferEnded { job, offer: &offer, end, at: entry.at, seq: entry.seq });
    }

    fn end_job(
        &mut self,
        no: JobNo,
        end: JobEnd,
        entry: &Entry,
        tell: &mut dyn FnMut(&Sighting<'_>),
    ) {
        let Some(mut job) = self.jobs.remove(no) else { return };
        job.offers.clear();
        tell(&Sighting::Ended { job: &job, end, at: entry.at });
        if end != JobEnd::Completed {
            self.remember(job);
        }
    }

    fn reopen(&mut self, no: JobNo, at: Timestamp) {
        let Some(place) = self.ended.iter().rposition(|job| job.no == no) else { return };
        if let Some(mut job) = self.ended.remove(place) {
            job.queued_at = at.max(job.spec.not_before);
            self.jobs.insert(no, job);
        }
    }
}
