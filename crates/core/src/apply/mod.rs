//! State + event -> state. Total: an event is a fact, so it cannot be refused.
//!
//! Everything here is a function of the state and the entry; the live engine and a replay run the
//! same code, so they end in the same state.

mod concurrency;
mod fleet;
mod keys;
mod lifecycle;
mod queue;
mod retention;
mod time;

use crate::event::{Entry, Event};
use crate::life::Moved;
use crate::model::{Actor, ActorNo, FailureCause, KnownActor, Phase, Seq};
use crate::place::shadow::ShadowTotals;
use crate::state::{JobState, State};

impl State {
    /// Returns what it publishes: the jobs that come into another state without being named.
    pub(crate) fn apply(&mut self, entry: &Entry) -> Box<[Moved]> {
        assert_eq!(entry.seq, self.seq.next(), "events are applied in order, none twice");
        self.seq = entry.seq;
        self.event_time = self.event_time.max(entry.at);
        self.now = self.now.max(entry.at);
        self.actors.hear(entry.actor, entry.seq);
        self.apply_event(entry);
        // Who acts is named in the middle of a wish: what that has looked at must still be there.
        if !matches!(entry.event, Event::ActorNamed { .. }) {
            self.forget(entry.at);
        }
        self.index.moved.drain(..).collect()
    }

    fn name_actor(&mut self, number: ActorNo, actor: &Actor, seq: Seq) {
        self.index.actors.insert(actor.clone(), number);
        let known = KnownActor { actor: actor.clone(), heard: seq };
        if let Some(forgotten) = self.actors.insert(number, known) {
            self.index.actors.remove(&forgotten);
        }
    }

    fn apply_event(&mut self, entry: &Entry) {
        let (seq, at) = (entry.seq, entry.at);
        if let Some(job) = entry.event.job()
            && let Some(job) = self.jobs.get_mut(job)
        {
            job.last = seq;
            job.counts.take(&entry.event);
        }
        match &entry.event {
            Event::Submitted { run, first, jobs } => {
                self.take_submission(run.as_ref(), *first, jobs, seq, at);
            }
            Event::Assigned { job, worker, hedge, decision } => {
                self.take_assignment(*job, *worker, *hedge, decision, seq, at);
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                self.start_attempt(*job, *token, at);
            }
            Event::Progressed { job, token, .. } => {
                let stalled_at = Some(at + self.config.stall_after);
                self.change_phase(*job, *token, |phase| match phase {
                    Phase::Running { since, timeout_at, .. } => {
                        Phase::Running { since, timeout_at, stalled_at }
                    }
                    offered @ Phase::Offered { .. } => offered,
                });
            }
            Event::Completed { job, token, result_hash, .. } => {
                self.count_attempt(*job, *token, None);
                self.learn_from(*job, *token, at);
                let end = JobState::Completed { token: *token, result_hash: *result_hash };
                self.end_job(*job, end, at);
            }
            Event::AttemptFailed { job, token, cause: FailureCause::NoHandler, .. } => {
                let worker = self.expect_job(*job).attempt(*token).map(|attempt| attempt.worker);
                let kind = self.expect_job(*job).spec.requirements.kind.clone();
                self.detach(*job, *token, at);
                if let Some(worker) = worker {
                    self.cannot_handle(worker, &kind);
                }
            }
            Event::AttemptFailed { job, token, cause, .. } => {
                self.count_attempt(*job, *token, Some(*cause));
                self.detach(*job, *token, at);
            }
            Event::HandedOff { job, token, handoff } => {
                self.detach(*job, *token, at);
                self.hand_off(*job, handoff);
                self.queue_job(*job, at, at);
            }
            Event::Revoked { job, token, .. } => self.detach(*job, *token, at),
            Event::Retried { job, not_before, avoid } => {
                self.expect_job_mut(*job).avoid = (*avoid).into();
                self.queue_job(*job, *not_before, at);
            }
            Event::Due { job } => {
                self.unqueue_job(*job);
                self.queue_job(*job, at, at);
            }
            Event::Escalated { job, priority, role } => {
                self.escalate(*job, *priority, role.clone());
                self.queue_job(*job, at, at);
            }
            Event::DeadLettered { job, reason } => {
                self.end_job(*job, JobState::DeadLettered { reason: *reason }, at);
            }
            Event::Failed { job, cause } => {
                self.end_job(*job, JobState::Failed { cause: *cause }, at);
            }
            Event::Skipped { job, because } => {
                self.end_job(*job, JobState::Skipped { because: *because }, at);
            }
            Event::SkippedByKey { job, holder, .. } => {
                self.end_job(*job, JobState::Skipped { because: *holder }, at);
            }
            Event::Cancelled { job, .. } => self.end_job(*job, JobState::Cancelled, at),
            Event::Reopened { job } => self.reopen(*job, at),
            Event::Pinned { job, worker } => self.pin(*job, *worker),
            Event::WorkerJoined { worker, spec } => self.add_worker(*worker, spec, seq, at),
            Event::WorkerReturned { worker } => self.return_worker(*worker, seq, at),
            Event::WorkerReported { worker, beat } => self.take_report(*worker, *beat, seq, at),
            Event::WorkerDraining { worker } => self.set_draining(*worker, true, seq),
            Event::WorkerUndrained { worker } => self.set_draining(*worker, false, seq),
            Event::WorkerLost { worker } => self.lose_worker(*worker, false, seq, at),
            Event::WorkerLeft { worker } => self.lose_worker(*worker, true, seq, at),
            Event::WorkerSilent { worker } => self.set_silent(*worker, Some(at), seq),
            Event::WorkerHeard { worker } => self.set_silent(*worker, None, seq),
            Event::ModelLoaded { worker, model, took } => {
                self.warm_up(*worker, model, *took, seq);
            }
            Event::WorkerInvited { worker, ticket, terms, expires } => {
                self.take_invitation(worker, *ticket, terms, *expires, at);
            }
            Event::WorkerKeyBound { worker, key, standing, terms, ticket } => {
                self.bind_key(worker, *key, *standing, terms, *ticket, at);
            }
            Event::WorkerKeyRotated { worker, key } => self.rotate_key(worker, *key, at),
            Event::WorkerKeyRevoked { worker } => self.revoke_key(worker, at),
            Event::Paused { kind } => {
                self.paused.insert(kind.clone());
                self.repause();
            }
            Event::Unpaused { kind } => {
                self.paused.remove(kind);
                self.repause();
                // Capacity that came while a class was paused did not wake it.
                self.index.classes.unpark_all();
                self.index.dirty = true;
            }
            Event::Configured { version, config } => {
                if self.config.shadow != config.shadow {
                    // What another policy would have done says nothing of this one.
                    self.shadow = ShadowTotals::default();
                }
                let before = std::mem::replace(&mut self.config, (**config).clone());
                self.limit_keys(&before.limits);
                self.config_version = *version;
                self.statistics.set_defaults(config);
                self.reconsider_all();
            }
            Event::PredictorFailed { .. } => self.breaker.failures += 1,
            Event::BreakerOpened { until } => {
                self.breaker.failures = 0;
                self.breaker.open_until = Some(*until);
            }
            Event::BreakerClosed => {
                self.breaker.failures = 0;
                self.breaker.open_until = None;
            }
            Event::DriftDetected { .. } => {}
            Event::Warmed { kind, samples } => self.statistics.warm(kind, samples),
            Event::TermsExtended { by } => self.extend_terms(*by),
            Event::ClockStepped { to, .. } => self.step_clock(*to),
            // What it says is of the journal, not of the state.
            Event::Checkpointed { .. } => {}
            Event::Noted { name, value } => {
                self.notes.insert(name.clone(), value.clone());
            }
            Event::ActorNamed { number, actor } => self.name_actor(*number, actor, seq),
        }
    }
}
