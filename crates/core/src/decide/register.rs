//! Workers that come, and come back.

use std::sync::Arc;

use crate::command::Answer;
use crate::effect::{Effect, offer_again};
use crate::engine::Engine;
use crate::event::Event;
use crate::model::limits::{LABELS_MAX, TYPES_MAX, WORKER_SLOTS_MAX};
use crate::model::{
    Admission, FailureCause, Guarantee, HeldAttempt, JobNo, Phase, Token, WorkerNo, WorkerSpec,
    WorkerStatus,
};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn register(
        &mut self,
        spec: WorkerSpec,
        held: &[HeldAttempt],
        admission: Admission,
    ) -> Result<Answer, Rejection> {
        check(&spec)?;
        let bound = self.admit_worker(&spec, admission)?;
        let known = self.state.worker_no(spec.id.as_str());
        let no = known.unwrap_or_else(|| self.state.last_worker.next());
        let same_process = self.state.worker(no).is_some_and(|w| w.spec.instance == spec.instance);
        #[cfg(feature = "defects")]
        let same_process = same_process && !self.has(crate::defect::Defect::ForgetReturningWorker);
        if let Some(bound) = bound {
            self.emit(bound);
        }
        if same_process {
            self.welcome_back(no, spec, held);
        } else {
            self.abandon(no, "the worker was restarted");
            self.emit(Event::WorkerJoined { worker: no, spec: Arc::new(spec) });
        }
        self.heard_of(no);
        self.has_spoken(no);
        let mine = &self.state.expect_worker(no).held;
        let unknown = held.iter().filter(|attempt| !mine.contains(attempt)).copied().collect();
        Ok(Answer::Registered { worker: no, unknown })
    }

    /// The same process: what it still holds goes on, what it does not is placed anew, or offered to it
    /// again where it may go to nobody else.
    fn welcome_back(&mut self, no: WorkerNo, spec: WorkerSpec, held: &[HeldAttempt]) {
        let worker = self.state.expect_worker(no);
        let missing: Vec<HeldAttempt> =
            worker.held.iter().filter(|attempt| !held.contains(attempt)).copied().collect();
        let changed = *worker.spec != spec;
        let was_gone = worker.status == WorkerStatus::Unreachable;
        for attempt in missing {
            match self.offered_once(attempt) {
                Some(offer) => self.repeat(offer),
                None => {
                    self.give_up(attempt.job, attempt.token, "the worker came back without it");
                }
            }
        }
        if changed && self.state.expect_worker(no).held.is_empty() {
            self.emit(Event::WorkerJoined { worker: no, spec: Arc::new(spec) });
        } else if was_gone {
            self.emit(Event::WorkerReturned { worker: no });
        }
    }

    /// The offer of a job that is dispatched once, if it has not been answered. A process names all that has
    /// reached it until its end is confirmed, so this one has not; with the same token it is the same
    /// dispatch.
    fn offered_once(&self, attempt: HeldAttempt) -> Option<Effect> {
        let job = self.state.job(attempt.job)?;
        let phase = job.attempt(attempt.token)?.phase;
        let is_once = job.spec.guarantee == Guarantee::AtMostOnce;
        let is_open = is_once && matches!(phase, Phase::Offered { .. });
        is_open.then(|| offer_again(&self.state, attempt)).flatten()
    }

    /// Everything that the worker held is lost.
    pub(super) fn abandon(&mut self, no: WorkerNo, why: &str) {
        let Some(worker) = self.state.worker(no) else { return };
        let mut held = worker.held.clone();
        held.sort_unstable();
        for attempt in held {
            self.give_up(attempt.job, attempt.token, why);
        }
    }

    /// A started attempt went down with its worker; an offer never arrived.
    pub(super) fn give_up(&mut self, job: JobNo, token: Token, why: &str) {
        let attempt = self.state.expect_job(job).attempt(token);
        let cause = match attempt.map(|attempt| attempt.phase) {
            Some(Phase::Running { .. }) => FailureCause::WorkerLost,
            Some(Phase::Offered { .. }) => FailureCause::Undelivered,
            None => return,
        };
        self.fail_attempt(job, token, cause, why.to_owned(), None);
    }
}

fn check(spec: &WorkerSpec) -> Result<(), Rejection> {
    let id = || spec.id.clone();
    if spec.slots == 0 || spec.slots > WORKER_SLOTS_MAX {
        return Err(Rejection::BadSlots { id: id(), given: spec.slots, max: WORKER_SLOTS_MAX });
    }
    let lists = [
        ("types", &spec.types, TYPES_MAX),
        ("roles", &spec.roles, LABELS_MAX),
        ("capabilities", &spec.capabilities, LABELS_MAX),
        ("models", &spec.models, LABELS_MAX),
    ];
    for (what, list, max) in lists {
        if list.len() > max {
            let given = list.len();
            return Err(Rejection::TooManyLabels { id: id(), what, given, max });
        }
    }
    Ok(())
}
