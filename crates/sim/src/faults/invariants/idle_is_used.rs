//! No ready job waits while an idle worker could run it.

use bellwether_core::model::{Receiver, Strategy, Target};
use bellwether_core::{Engine, Job, JobState, Worker};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct IdleIsUsed;

impl Invariant for IdleIsUsed {
    fn name(&self) -> &'static str {
        "idle_is_used"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Quiet { engine } = seen else {
            return Ok(());
        };
        let config = engine.state().config();
        // It may pay to wait for a faster worker that is busy.
        if config.strategy == Strategy::Predictive && config.hold_max > 0 {
            return Ok(());
        }
        for (number, job) in engine.state().jobs().filter(|(_, job)| is_ready(engine, job)) {
            // Of jobs with the same keys only the first of a class is looked at, and the others wait with it,
            // also where it alone can't go to the worker that is idle (seed 547).
            if job.spec.key_set().is_some() {
                continue;
            }
            let given = engine.state().handoffs_of(number).last().map(|last| &last.receiver);
            if let Some((_, idle)) = engine
                .state()
                .workers()
                .find(|(_, worker)| is_idle(worker) && suits(worker, job, given))
            {
                return Err(format!("job {number} waits while {} is idle", idle.id()));
            }
        }
        Ok(())
    }
}

fn is_ready(engine: &Engine, job: &Job) -> bool {
    job.state == JobState::Ready && !engine.state().paused().contains(job.spec.kind())
}

pub(super) fn is_idle(worker: &Worker) -> bool {
    // A queue that is not ours counts too.
    let unused = worker.held.is_empty() && worker.foreign_queue == 0;
    worker.takes_jobs() && unused
}

pub(super) fn suits(worker: &Worker, job: &Job, given: Option<&Receiver>) -> bool {
    let needs = &job.spec.requirements;
    let role = job.escalated.as_ref().and_then(|escalated| escalated.role.as_ref());
    let own = given.map_or_else(|| needs.target.clone(), Receiver::target);
    let role = role.filter(|_| given.is_none());
    let wanted = match (&job.pinned, role, &own) {
        (Some(pinned), _, _) => **pinned == *worker.id(),
        (None, Some(role), _) | (None, None, Target::Role(role)) => {
            worker.spec.roles.contains(role)
        }
        (None, None, Target::Receiver(receiver)) => receiver == worker.id(),
        (None, None, Target::Any) => true,
    };
    let skilled = needs.capabilities.iter().all(|skill| worker.spec.capabilities.contains(skill));
    let warm =
        needs.model.as_ref().is_none_or(|model| worker.spec.loads_models || worker.is_warm(model));
    let types = &worker.spec.types;
    let handles = (types.is_empty() || types.contains(&needs.kind))
        && !worker.unhandled.contains(&needs.kind);
    wanted && skilled && warm && handles && worker.fits(needs.resources)
}
