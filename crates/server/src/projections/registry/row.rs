//! A job as the registry keeps it.

use std::sync::Arc;

use bellwether_core::life::AttemptStep;
use bellwether_core::model::{
    JobNo, JobSpec, JobStatus, Name, Phase, RunId, Seq, Timestamp, Token, WorkerNo,
};
use bellwether_core::{AttemptChange, AttemptEnd, Counts, Entry, Event, Job, JobState};
use bellwether_wire::decision::decision_to_wire;
use bellwether_wire::job::escalated_to_wire;
use bellwether_wire::{Mirror as _, v1};

use super::partitions::Slot;

/// Attempts of one job that are kept; a job that is retried by hand for ever must not grow for ever.
const ATTEMPTS_MAX: usize = 100;

/// A job that nothing has happened to yet but that it waits: small, because there may be a great many.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) spec: Arc<JobSpec>,
    pub(super) run: Option<RunId>,
    pub(super) status: JobStatus,
    /// Of the last event.
    pub(super) seq: Seq,
    /// Of the first one.
    pub(super) since: Seq,
    pub(super) at: Timestamp,
    /// Who submitted it.
    pub(super) by: Option<Name>,
}

#[derive(Debug, Clone)]
pub(super) struct Row {
    /// All that is not in the spec; `spec` is empty.
    pub(super) job: v1::Job,
    /// The worker of the latest attempt.
    pub(super) worker: String,
    pub(super) kept: Kept,
    /// The first event that is not in the file; none if all are.
    pub(super) unwritten_since: Option<Seq>,
}

/// Where the row is in the file.
#[derive(Debug, Clone)]
pub(super) enum Kept {
    /// Not yet, so here is what was submitted.
    Nowhere(Arc<JobSpec>),
    Live,
    /// The state is the one that it ended in, as it is counted there.
    Ended {
        slot: Slot,
        state: i32,
    },
}

/// Whom an entry speaks of besides its job.
#[derive(Debug, Default)]
pub(super) struct Others {
    /// The worker of an offer.
    pub(super) worker: String,
    /// The dependency that did not complete.
    pub(super) because: Option<String>,
    /// Who wished for it.
    pub(super) by: Option<Name>,
}

impl Row {
    pub(super) fn of(no: JobNo, fresh: &Fresh) -> Row {
        let job = v1::Job {
            job: no.0,
            state: fresh.status.to_wire(),
            run_id: fresh.run.as_ref().map_or_else(String::new, RunId::to_string),
            submitted_at: fresh.at.0,
            position: fresh.seq.0,
            submitted_by: fresh.by.as_ref().map_or_else(String::new, Name::to_string),
            ..Default::default()
        };
        let kept = Kept::Nowhere(fresh.spec.clone());
        Row { job, worker: String::new(), kept, unwritten_since: Some(fresh.since) }
    }

    /// As the core knows the job: without attempts that have ended.
    pub(super) fn known(
        no: JobNo,
        job: &Job,
        run: Option<RunId>,
        worker_name: impl Fn(WorkerNo) -> String,
    ) -> Row {
        let (spec, seq, at) = (job.spec.clone(), job.last, job.submitted_at);
        let status = job.state.status();
        let mut row = Row::of(no, &Fresh { spec, run, status, seq, since: seq, at, by: None });
        row.job.ended_at = job.ended().map_or(0, |at| at.0);
        row.set_counts(job.counts);
        row.job.escalated =
            job.escalated.as_ref().map(|to| escalated_to_wire(to.priority, to.role.as_ref()));
        if let JobState::Completed { result_hash, .. } = &job.state {
            row.job.result_hash = result_hash.to_vec().into();
        }
        for attempt in job.offers() {
            let (state, started_at) = match attempt.phase {
                Phase::Offered { .. } => (v1::AttemptState::Offered, 0),
                Phase::Running { since, .. } => (v1::AttemptState::Running, since.0),
            };
            row.worker = worker_name(attempt.worker);
            row.job.started_at = started_at;
            row.job.attempts.push(v1::AttemptView {
                token: attempt.token.0,
                worker: row.worker.clone(),
                state: state.into(),
                hedge: attempt.hedge,
                offered_at: attempt.offered_at.0,
                started_at,
                ..Default::default()
            });
        }
        row
    }

    pub(super) fn has_ended(&self) -> bool {
        self.job.ended_at > 0
    }

    fn counts(&self) -> Counts {
        // Attempts that never started are not shown.
        Counts { failures: self.job.failures, crashes: self.job.crashes, returns: 0 }
    }

    fn set_counts(&mut self, counts: Counts) {
        (self.job.failures, self.job.crashes) = (counts.failures, counts.crashes);
    }

    /// Takes in an event of this job.
    pub(super) fn take(&mut self, entry: &Entry, others: Others) {
        let mut counts = self.counts();
        counts.take(&entry.event);
        self.set_counts(counts);
        if let Some(step) = entry.attempt() {
            self.take_step(&step, entry.at, others.worker);
        }
        let by_hand = matches!(
            entry.event,
            Event::Cancelled { .. } | Event::Reopened { .. } | Event::Pinned { .. }
        );
        if let Some(by) = others.by.filter(|_| by_hand) {
            self.job.changed_by = by.to_string();
        }
        if let Event::Progressed { permille, note, .. } = &entry.event {
            self.job.progress_permille = *permille;
            self.job.progress_note.clone_from(note);
        }
        if let Event::Escalated { priority, role, .. } = &entry.event {
            self.job.escalated = Some(escalated_to_wire(*priority, role.as_ref()));
        }
        if let Event::Completed { result, result_hash, .. } = &entry.event {
            self.job.result = result.clone();
            self.job.result_hash = result_hash.to_vec().into();
        }
        let no = self.job.job;
        for own in entry.transitions().filter(|own| own.job.0 == no) {
            self.enter(own.to, entry.at);
        }
        if self.has_ended() {
            self.job.explanation = explanation(&entry.event, others.because);
        }
    }

    pub(super) fn enter(&mut self, status: JobStatus, at: Timestamp) {
        self.job.state = status.to_wire();
        if status == JobStatus::Running && self.job.started_at == 0 {
            self.job.started_at = at.0;
        }
        if status.has_ended() {
            self.job.ended_at = at.0.max(1);
        } else {
            self.job.ended_at = 0;
            self.job.explanation.clear();
        }
    }

    fn take_step(&mut self, step: &AttemptStep<'_>, at: Timestamp, worker: String) {
        match step.what {
            AttemptChange::Offered { hedge, decision, .. } => {
                if self.job.attempts.len() >= ATTEMPTS_MAX {
                    self.job.attempts.remove(0);
                }
                self.worker.clone_from(&worker);
                self.job.attempts.push(v1::AttemptView {
                    token: step.token.0,
                    worker,
                    state: v1::AttemptState::Offered.into(),
                    hedge,
                    offered_at: at.0,
                    decision: Some(decision_to_wire(decision)),
                    ..Default::default()
                });
            }
            AttemptChange::Started => {
                if let Some(attempt) = self.attempt(step.token)
                    && attempt.started_at == 0
                {
                    attempt.started_at = at.0;
                    attempt.set_state(v1::AttemptState::Running);
                }
            }
            AttemptChange::Ended(end) => self.end_attempt(step.token, end, at),
        }
    }

    fn end_attempt(&mut self, token: Token, end: AttemptEnd<'_>, at: Timestamp) {
        let Some(attempt) = self.attempt(token) else { return };
        attempt.ended_at = at.0;
        match end {
            AttemptEnd::Failed { cause, error } => {
                attempt.set_state(v1::AttemptState::Failed);
                attempt.cause = cause.to_wire();
                attempt.error = error.to_owned();
            }
            AttemptEnd::Revoked { reason } => {
                attempt.set_state(v1::AttemptState::Revoked);
                attempt.revoked = reason.to_wire();
            }
            AttemptEnd::Completed { .. } => {
                attempt.set_state(v1::AttemptState::Completed);
                // A worker may finish before it has said that it began.
                if attempt.started_at == 0 {
                    attempt.started_at = attempt.offered_at;
                }
                let started_at = attempt.started_at;
                if self.job.started_at == 0 {
                    self.job.started_at = started_at;
                }
            }
        }
    }

    fn attempt(&mut self, token: Token) -> Option<&mut v1::AttemptView> {
        self.job.attempts.iter_mut().rev().find(|attempt| attempt.token == token.0)
    }
}

/// Why the job ended, for people; nothing if it completed.
fn explanation(event: &Event, because: Option<String>) -> String {
    match event {
        Event::DeadLettered { reason, .. } => format!("dead-lettered: {}", reason.in_words()),
        Event::Failed { cause, .. } => format!("failed: {}", cause.in_words()),
        Event::Skipped { .. } => match because {
            Some(id) => format!("its dependency {id} did not complete"),
            None => "a dependency did not complete".to_owned(),
        },
        Event::SkippedByKey { key, .. } => match because {
            Some(id) => format!("its key {key} was at its limit, held by {id}"),
            None => format!("its key {key} was at its limit"),
        },
        Event::Cancelled { reason, .. } if reason.is_empty() => "cancelled".to_owned(),
        Event::Cancelled { reason, .. } => reason.clone(),
        _ => String::new(),
    }
}
