//! An acknowledged submission is never lost.

use std::collections::BTreeMap;

use bellwether_core::model::{JobId, JobNo};
use bellwether_core::{Answer, Command, Engine};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ledger;

#[derive(Debug, Default)]
pub(crate) struct AckedIsKept {
    acked: BTreeMap<JobNo, JobId>,
}

impl Invariant for AckedIsKept {
    fn name(&self) -> &'static str {
        "acked_is_kept"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Answered {
                command: Command::Submit(submission),
                result: Ok(Answer::Submitted { jobs, known, .. }),
                ..
            } => {
                if jobs.len() != submission.jobs.len() {
                    return Err(format!("{} of {} jobs", jobs.len(), submission.jobs.len()));
                }
                for (number, job) in jobs.iter().zip(&submission.jobs) {
                    let kept = view.ledger.job(*number);
                    let named = kept.is_some_and(|kept| known.is_some() || kept.spec.id == job.id);
                    if !named {
                        return Err(format!("{} acknowledged as {number}, not kept", job.id));
                    }
                    if let Some(kept) = kept {
                        self.acked.insert(*number, kept.spec.id.clone());
                    }
                }
                Ok(())
            }
            Observation::Recovered { engine, .. }
            | Observation::Finished { engine: Some(engine), .. } => {
                self.all_kept(engine, view.ledger)
            }
            Observation::Unreadable { why } => Err(format!("the journal does not open: {why}")),
            _ => Ok(()),
        }
    }
}

impl AckedIsKept {
    fn all_kept(&self, engine: &Engine, ledger: &Ledger) -> Result<(), String> {
        for (number, id) in &self.acked {
            // A job that has ended may be forgotten; one that has not may not.
            let ended = ledger.job(*number).is_some_and(|job| job.ending.is_some());
            match engine.state().job(*number) {
                Some(job) if job.spec.id == *id => {}
                Some(job) => return Err(format!("{id} ({number}) has become {}", job.spec.id)),
                None if ended => {}
                None => return Err(format!("{id} ({number}) is gone")),
            }
        }
        Ok(())
    }
}
