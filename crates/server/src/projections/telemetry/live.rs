//! Jobs that have not ended, with what happened to them: events speak in numbers, and those who
//! watch want to know of what type a job was, when it came and what was predicted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use bellwether_core::life::AttemptStep;
use bellwether_core::model::table::Table;
use bellwether_core::model::{
    JobNo, JobSpec, JobStatus, Micros, Phase, RunId, Timestamp, Token, WorkerNo, WorkerSpec,
};
use bellwether_core::{AttemptChange, Entry, Event, JobState, State, Transition};

use super::sighting::Sighting;

/// Jobs that ended without completing and are remembered, because they may be reopened.
const ENDED_MAX: usize = 10_000;
/// Workers whose names are remembered; the first to come are forgotten first.
const WORKERS_MAX: usize = 20_000;

#[derive(Debug, Clone)]
pub(crate) struct LiveJob {
    pub(crate) no: JobNo,
    pub(crate) spec: Arc<JobSpec>,
    pub(crate) run: Option<RunId>,
    pub(crate) submitted_at: Timestamp,
    /// Since when it could have been placed.
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
        let queued_at = at.max(spec.extras().not_before);
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
        match &entry.event {
            Event::Submitted { run, jobs, .. } => {
                let run = run.as_ref().map(|run| &run.id);
                for (taken, job) in entry.transitions().zip(jobs) {
                    let job = LiveJob::new(taken.job, job.spec.clone(), run.cloned(), entry.at);
                    tell(&Sighting::Submitted { job: &job });
                    self.jobs.insert(taken.job, job);
                }
                return;
            }
            Event::WorkerJoined { worker, spec } => self.add_worker(*worker, spec),
            _ => {}
        }
        match entry.attempt() {
            Some(step) => self.take_step(&step, entry, tell),
            None => {
                let job = entry.event.job().and_then(|no| self.jobs.get(no));
                tell(&Sighting::Other { event: &entry.event, job });
            }
        }
        for transition in entry.transitions() {
            self.enter(&transition, entry.at, tell);
        }
    }

    fn take_step(
        &mut self,
        step: &AttemptStep<'_>,
        entry: &Entry,
        tell: &mut dyn FnMut(&Sighting<'_>),
    ) {
        let (at, seq) = (entry.at, entry.seq);
        let Some(job) = self.jobs.get_mut(step.job) else { return };
        if let AttemptChange::Offered { worker, hedge, decision } = step.what {
            job.attempts += u32::from(!hedge);
            job.offers.push(LiveOffer {
                token: step.token,
                worker: self.workers.get(&worker).cloned(),
                number: job.attempts,
                hedge,
                offered_at: at,
                started_at: None,
                predicted: decision.predicted_duration,
            });
            let offer = job.offers.last().expect("it was pushed a line ago");
            tell(&Sighting::Decided { job, offer, decision, workers: &self.workers });
            return;
        }
        let found = job.offers.iter().position(|offer| offer.token == step.token);
        let Some(place) = found else { return };
        match step.what {
            AttemptChange::Offered { .. } => {}
            AttemptChange::Started => {
                job.offers[place].started_at = Some(at);
                tell(&Sighting::Started { offer: &job.offers[place] });
            }
            AttemptChange::Ended(end) => {
                let offer = job.offers.remove(place);
                tell(&Sighting::OfferEnded { job, offer: &offer, end, at, seq });
            }
        }
    }

    fn enter(
        &mut self,
        transition: &Transition<'_>,
        at: Timestamp,
        tell: &mut dyn FnMut(&Sighting<'_>),
    ) {
        let (no, to) = (transition.job, transition.to);
        if to.has_ended() {
            let Some(mut job) = self.jobs.remove(no) else { return };
            job.offers.clear();
            tell(&Sighting::Ended { job: &job, how: to, at });
            if to != JobStatus::Completed {
                self.remember(job);
            }
            return;
        }
        if let Event::Reopened { job } = transition.why
            && *job == no
        {
            self.recall(no);
        }
        if to == JobStatus::Ready
            && let Some(job) = self.jobs.get_mut(no)
        {
            job.queued_at = at;
        }
    }

    fn recall(&mut self, no: JobNo) {
        let place = self.ended.iter().rposition(|job| job.no == no);
        if let Some(job) = place.and_then(|place| self.ended.remove(place)) {
            self.jobs.insert(no, job);
        }
    }
}
