//! The durable events alone give the same state, whoever applies them: a scheduler that decided
//! them, one that was rebuilt from snapshot and journal, one that only followed.

use bellwether_core::Engine;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct SameJournalSameHash;

impl Invariant for SameJournalSameHash {
    fn name(&self) -> &'static str {
        "same_journal_same_hash"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Recovered { engine, .. } => same("recovered", engine, view.follower),
            Observation::Inspected { engine, .. } => same("running", engine, view.follower),
            Observation::Finished { engine: Some(engine), .. } => {
                same("last", engine, view.follower)
            }
            _ => Ok(()),
        }
    }
}

fn same(which: &str, engine: &Engine, follower: &Engine) -> Result<(), String> {
    if engine.last_seq() != follower.last_seq() {
        let (at, durable) = (engine.last_seq(), follower.last_seq());
        return Err(format!("the {which} engine is at {at}, the journal at {durable}"));
    }
    if engine.state_hash() != follower.state_hash() {
        return Err(format!("the {which} engine's state differs at {}", engine.last_seq()));
    }
    Ok(())
}
