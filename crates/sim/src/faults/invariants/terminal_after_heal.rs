//! Once the faults are over, every job ends.

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct TerminalAfterHeal;

impl Invariant for TerminalAfterHeal {
    fn name(&self) -> &'static str {
        "terminal_after_heal"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Finished { engine, .. } = seen else {
            return Ok(());
        };
        let Some((number, job)) = view.ledger.jobs().find(|(_, job)| job.ending.is_none()) else {
            return Ok(());
        };
        let state = engine.and_then(|engine| engine.state().job(number)).map(|job| &job.state);
        Err(format!(
            "{} jobs have not ended; the first is {} ({number}), {state:?}",
            view.ledger.live, job.spec.id
        ))
    }
}
