//! An offer that nobody answers does not keep its job waiting while an idle worker could run it.

use std::collections::BTreeMap;

use bellwether_core::model::{Guarantee, JobNo, Micros, Phase, Token, WorkerNo};
use bellwether_core::{Command, Engine, Job};

use super::Invariant;
use super::idle_is_used::{is_idle, suits};
use crate::faults::court::{Observation, View};

/// How late a look may be, of the time that a scheduler listens.
const LATE_MAX: u64 = 5_000_000;

#[derive(Debug, Default)]
pub(crate) struct QuietMovesOn {
    /// Offers that could go elsewhere, by their first, and since when that has been so.
    stuck: BTreeMap<(JobNo, Token), u64>,
}

impl Invariant for QuietMovesOn {
    fn name(&self) -> &'static str {
        "quiet_moves_on"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            // Nobody is given up in haste after the scheduler was away.
            Observation::Recovered { .. }
            | Observation::Asked { command: Command::ExtendTerms { .. }, .. } => {
                self.stuck.clear();
                Ok(())
            }
            Observation::Quiet { engine } => self.look(engine, view.stamps.latest().listened),
            _ => Ok(()),
        }
    }
}

impl QuietMovesOn {
    fn look(&mut self, engine: &Engine, now: u64) -> Result<(), String> {
        let mut stuck = BTreeMap::new();
        for (number, job) in engine.state().jobs() {
            let Some(first) = job.offers().first() else { continue };
            let Some(patience) = patience(engine, job) else { continue };
            let given = engine.state().handoffs_of(number).last().map(|last| &last.receiver);
            let other = engine.state().workers().find(|(no, worker)| {
                !holds(job, *no) && is_idle(worker) && suits(worker, job, given)
            });
            let Some((_, other)) = other else { continue };
            let key = (number, first.token);
            let since = self.stuck.get(&key).copied().unwrap_or(now);
            if now.saturating_sub(since) > LATE_MAX + 2 * patience.0 {
                let id = other.id();
                return Err(format!("job {number} waits for an answer while {id} is idle"));
            }
            stuck.insert(key, since);
        }
        self.stuck = stuck;
        Ok(())
    }
}

fn holds(job: &Job, worker: WorkerNo) -> bool {
    job.offers().iter().any(|attempt| attempt.worker == worker)
}

/// How long its offers may be quiet; none if it may not be offered to anybody else.
fn patience(engine: &Engine, job: &Job) -> Option<Micros> {
    let state = engine.state();
    let may_fail = job.counts.failures <= job.spec.retries_of_taken()
        && job.counts.crashes < state.config().max_crashes;
    let once = job.spec.guarantee == Guarantee::AtMostOnce;
    if once || !may_fail || state.is_paused(job.spec.kind()) {
        return None;
    }
    let spans = job.offers().iter().map(|attempt| match attempt.phase {
        Phase::Offered { since, quiet_at } => {
            Some(state.overdue_at(job, since, quiet_at).since(since))
        }
        Phase::Running { .. } => None,
    });
    spans.collect::<Option<Vec<Micros>>>()?.into_iter().max()
}
