//! A worker that reconnects goes on with what it holds: a restart of the scheduler or a broken
//! connection costs no attempt. What it holds no longer, it is told to drop.

use bellwether_core::model::HeldAttempt;
use bellwether_core::{Answer, Command};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::scheduler::holds;

#[derive(Debug, Default)]
pub(crate) struct HeldGoesOn;

impl Invariant for HeldGoesOn {
    fn name(&self) -> &'static str {
        "held_goes_on"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Asked {
            command: Command::Register { spec, held, .. },
            handled,
            held_before,
            engine,
            ..
        } = seen
        else {
            return Ok(());
        };
        let Ok(Answer::Registered { unknown, .. }) = &handled.result else {
            return Ok(());
        };
        let holds_now = |attempt: &HeldAttempt| holds(engine, &spec.id, *attempt);
        if let Some(lost) = held_before.iter().find(|attempt| !holds_now(attempt)) {
            return Err(format!("{} comes back with {lost:?} and loses it", spec.id));
        }
        let told = |attempt: &HeldAttempt| unknown.contains(attempt);
        match held.iter().find(|attempt| told(attempt) == holds_now(attempt)) {
            Some(attempt) => Err(format!("{} is told the wrong thing of {attempt:?}", spec.id)),
            None => Ok(()),
        }
    }
}
