//! An idempotency key makes one job, however often it is submitted.

use std::collections::BTreeMap;

use bellwether_core::model::{JobNo, Name};
use bellwether_core::{Answer, Command, Event, Rejection};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::keys::AUTOMATIC_KEY;

#[derive(Debug, Default)]
pub(crate) struct OneKeyOneJob {
    jobs: BTreeMap<Name, JobNo>,
}

impl Invariant for OneKeyOneJob {
    fn name(&self) -> &'static str {
        "one_key_one_job"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => {
                let Event::Submitted { first, jobs, .. } = &entry.event else {
                    return Ok(());
                };
                let mut number = *first;
                for job in jobs {
                    if let Some(key) = job.spec.idempotency_key.as_ref().filter(|key| stands(key))
                        && let Some(other) = self.jobs.insert(key.clone(), number)
                    {
                        return Err(format!("key {key} made job {other} and now {number}"));
                    }
                    number = number.next();
                }
                Ok(())
            }
            Observation::Answered { command: Command::Submit(submission), result, .. } => {
                for (position, job) in submission.jobs.iter().enumerate() {
                    let Some(key) = job.idempotency_key.as_ref().filter(|key| stands(key)) else {
                        continue;
                    };
                    self.answered(key, position, result)?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Those that nobody chose stand as long as the engine remembers them.
fn stands(key: &Name) -> bool {
    !key.as_str().starts_with(AUTOMATIC_KEY)
}

impl OneKeyOneJob {
    fn answered(
        &self,
        key: &Name,
        position: usize,
        result: &Result<Answer, Rejection>,
    ) -> Result<(), String> {
        let made = self.jobs.get(key);
        match result {
            Ok(Answer::Submitted { jobs, .. }) if jobs.get(position) == made => Ok(()),
            Ok(answer) => Err(format!("key {key} made {made:?}, the answer is {answer:?}")),
            Err(Rejection::DuplicateJob { id } | Rejection::KeyTaken { job: id, .. })
                if made.is_some() =>
            {
                Err(format!("key {key} made {made:?} and is refused as a duplicate of {id}"))
            }
            Err(_) => Ok(()),
        }
    }
}
