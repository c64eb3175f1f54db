//! A job never starts before its dependencies completed; one that runs whatever happens upstream
//! waits until they have ended.

use std::collections::BTreeMap;

use bellwether_core::model::{JobId, OnFailure};
use bellwether_core::{Answer, Command, Event};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ending;

#[derive(Debug, Default)]
pub(crate) struct DependenciesFirst {
    /// As the submitter named them: the engine's own list is what is being judged.
    declared: BTreeMap<JobId, Vec<JobId>>,
}

impl Invariant for DependenciesFirst {
    fn name(&self) -> &'static str {
        "dependencies_first"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Asked { command: Command::Submit(submission), handled, .. } => {
                // What was said of an id before may have been lost, and the id taken by another job.
                if let Ok(Answer::Submitted { known: None, .. }) = handled.result {
                    for job in &submission.jobs {
                        self.declared.insert(job.id.clone(), job.dependencies.to_vec());
                    }
                }
                Ok(())
            }
            Observation::Committed { entry } => {
                let Event::Assigned { job, .. } = &entry.event else {
                    return Ok(());
                };
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                let Some(dependencies) = self.declared.get(&record.spec.id) else {
                    return Ok(());
                };
                for id in dependencies {
                    let Some((_, dependency)) = view.ledger.job_named(id) else {
                        return Err(format!("{} depends on {id}, not kept", record.spec.id));
                    };
                    let met = match record.spec.on_failure {
                        OnFailure::Skip => {
                            matches!(dependency.ending, Some(Ending::Completed { .. }))
                        }
                        OnFailure::Run => dependency.ended_once,
                    };
                    if !met {
                        return Err(format!(
                            "{} is assigned before {id} ({:?})",
                            record.spec.id, dependency.ending
                        ));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
