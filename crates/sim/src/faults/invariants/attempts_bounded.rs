//! Retries and crashes of one job are bounded: what can't succeed is dead-lettered.

use bellwether_core::Event;
use bellwether_core::model::Guarantee;

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct AttemptsBounded;

impl Invariant for AttemptsBounded {
    fn name(&self) -> &'static str {
        "attempts_bounded"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Committed { entry } = seen else {
            return Ok(());
        };
        match &entry.event {
            Event::Assigned { job, .. } => {
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                if record.spec.guarantee != Guarantee::AtMostOnce
                    && record.failures > record.spec.retries_of_taken()
                {
                    return Err(format!(
                        "job {job} has failed {} times with {} retries and goes on",
                        record.failures,
                        record.spec.retries_of_taken()
                    ));
                }
                if record.crashes > view.ledger.config.max_crashes {
                    return Err(format!("job {job} goes on after {} crashes", record.crashes));
                }
                Ok(())
            }
            Event::Escalated { job, .. } => {
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                if record.escalations > 0 || record.spec.extras().escalation.is_none() {
                    return Err(format!("job {job} escalates unasked or twice"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
