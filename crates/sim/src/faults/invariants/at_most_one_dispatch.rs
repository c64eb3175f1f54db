//! An at_most_once job is dispatched once and begins once, unless a person retries it.

use std::collections::BTreeMap;

use bellwether_core::Event;
use bellwether_core::model::{Guarantee, JobNo};

use super::Invariant;
use crate::faults::court::{Execution, Observation, View};

#[derive(Debug, Default)]
pub(crate) struct AtMostOneDispatch {
    begun: BTreeMap<JobNo, u32>,
}

impl Invariant for AtMostOneDispatch {
    fn name(&self) -> &'static str {
        "at_most_one_dispatch"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => {
                let Event::Assigned { job, hedge, .. } = &entry.event else {
                    return Ok(());
                };
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                if record.spec.guarantee != Guarantee::AtMostOnce {
                    return Ok(());
                }
                if *hedge {
                    return Err(format!("job {job} is hedged"));
                }
                if record.dispatches > record.reopened {
                    return Err(format!("job {job} is dispatched again as {}", entry.seq));
                }
                Ok(())
            }
            Observation::Executed { attempt, stage: Execution::Started } => {
                let Some(record) = view.ledger.job(attempt.job) else {
                    return Ok(());
                };
                if record.spec.guarantee != Guarantee::AtMostOnce {
                    return Ok(());
                }
                let begun = self.begun.entry(attempt.job).or_default();
                *begun += 1;
                if *begun > 1 + record.reopened {
                    return Err(format!("job {} begins {begun} times", attempt.job));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
