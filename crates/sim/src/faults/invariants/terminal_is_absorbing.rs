//! What has ended stays ended, as it ended, unless a person reopens it.

use bellwether_core::model::{JobNo, Seq};
use bellwether_core::{Command, Event};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct TerminalIsAbsorbing {
    /// The positions that wishes to retry a job have brought about: after the first, up to the
    /// second.
    retries: Vec<(Seq, Seq)>,
}

impl Invariant for TerminalIsAbsorbing {
    fn name(&self) -> &'static str {
        "terminal_is_absorbing"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        if let Observation::Asked { command: Command::Retry { .. }, before, handled, .. } = seen {
            self.retries.push((*before, handled.seq));
        }
        let Observation::Committed { entry } = seen else {
            return Ok(());
        };
        let Some(job) = changed_job(&entry.event) else {
            return Ok(());
        };
        let Some(record) = view.ledger.job(job) else {
            return Err(format!("{} is about job {job}, never submitted", entry.event.name()));
        };
        match (&entry.event, record.ending) {
            (Event::Reopened { .. }, Some(crate::faults::ledger::Ending::Completed { .. })) => {
                Err(format!("job {job} has completed and is reopened"))
            }
            (Event::Reopened { .. }, None) => Err(format!("job {job} is reopened while open")),
            (Event::Reopened { .. }, Some(_)) => {
                let asked = |(after, to): &(Seq, Seq)| (*after < entry.seq) && entry.seq <= *to;
                if self.retries.iter().any(asked) {
                    return Ok(());
                }
                Err(format!("job {job} is reopened, and nobody has asked for it"))
            }
            (_, None) => Ok(()),
            (event, Some(ending)) => {
                Err(format!("job {job} has ended ({ending:?}); {} follows", event.name()))
            }
        }
    }
}

/// The job that an event moves on. A revoke tidies up after the end and moves nothing.
fn changed_job(event: &Event) -> Option<JobNo> {
    match event {
        Event::Submitted { .. } | Event::Revoked { .. } | Event::PredictorFailed { .. } => None,
        other => other.job(),
    }
}
