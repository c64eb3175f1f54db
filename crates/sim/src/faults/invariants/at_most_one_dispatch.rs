//! An at_most_once job is dispatched once and begins once, unless a person retries it; and that one dispatch is not
//! given up because it was lost on its way to a process that is still there.

use std::collections::BTreeMap;

use bellwether_core::Event;
use bellwether_core::model::{FailureCause, Guarantee, JobNo};

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
                let (job, hedge) = match &entry.event {
                    Event::Assigned { job, hedge, .. } => (job, hedge),
                    Event::AttemptFailed {
                        job, cause: FailureCause::Undelivered, error, ..
                    } => {
                        return given_up(*job, error, view);
                    }
                    _ => return Ok(()),
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

fn given_up(job: JobNo, error: &str, view: &View<'_>) -> Result<(), String> {
    let record = view.ledger.job(job);
    let is_once = record.is_some_and(|record| record.spec.guarantee == Guarantee::AtMostOnce);
    match is_once && error == "the worker came back without it" {
        true => {
            Err(format!("job {job} is given up, and its worker was there to be offered it again"))
        }
        false => Ok(()),
    }
}
