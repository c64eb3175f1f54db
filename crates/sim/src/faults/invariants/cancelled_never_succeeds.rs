//! A cancelled job never completes, and its workers are told to stop.

use std::collections::BTreeSet;

use bellwether_core::model::HeldAttempt;
use bellwether_core::{Command, Effect, Event};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ending;

#[derive(Debug, Default)]
pub(crate) struct CancelledNeverSucceeds {
    /// Attempts whose worker must be told, unless the scheduler dies first.
    to_stop: BTreeSet<HeldAttempt>,
}

impl Invariant for CancelledNeverSucceeds {
    fn name(&self) -> &'static str {
        "cancelled_never_succeeds"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => match &entry.event {
                Event::Completed { job, .. } => {
                    let cancelled = view
                        .ledger
                        .job(*job)
                        .is_some_and(|job| matches!(job.ending, Some(Ending::Cancelled)));
                    if cancelled { Err(format!("job {job} completes")) } else { Ok(()) }
                }
                Event::Cancelled { job, .. } => {
                    let open = view.ledger.job(*job).map(|job| job.attempts.as_slice());
                    for attempt in open.unwrap_or_default() {
                        self.to_stop.insert(HeldAttempt { job: *job, token: attempt.token });
                    }
                    Ok(())
                }
                _ => Ok(()),
            },
            Observation::Answered {
                command: Command::Cancel { job: id, .. },
                result: Ok(_),
                ..
            } => {
                let cancelled = view.ledger.job_named(id).is_some_and(|(_, job)| {
                    matches!(job.ending, Some(Ending::Cancelled)) || job.reopened > 0
                });
                if cancelled { Ok(()) } else { Err(format!("{id} is said to be, and is not")) }
            }
            Observation::Released { effect: Effect::Revoke { attempt, .. }, .. } => {
                self.to_stop.remove(attempt);
                Ok(())
            }
            // What the old scheduler had not yet said, the reconnecting worker is told.
            Observation::Recovered { .. } => {
                self.to_stop.clear();
                Ok(())
            }
            Observation::Quiet { .. } => match self.to_stop.first() {
                Some(attempt) => Err(format!("nobody stops {attempt:?}")),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
