//! A job has one result for ever, with one hash; of an exactly_once job, one claim is granted at
//! a time, and only a granted attempt commits.

use std::collections::BTreeMap;

use bellwether_core::Event;
use bellwether_core::model::{Guarantee, JobNo};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct ExactlyOneResult {
    results: BTreeMap<JobNo, [u8; 32]>,
}

impl Invariant for ExactlyOneResult {
    fn name(&self) -> &'static str {
        "exactly_one_result"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Committed { entry } = seen else {
            return Ok(());
        };
        match &entry.event {
            Event::Completed { job, token, result, result_hash } => {
                if *blake3::hash(result).as_bytes() != *result_hash {
                    return Err(format!("job {job}: the hash is not that of the result"));
                }
                if self.results.insert(*job, *result_hash).is_some() {
                    return Err(format!("job {job} completes a second time (token {token})"));
                }
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                let granted = record.attempts.iter().any(|a| a.token == *token && a.started);
                if record.spec.guarantee == Guarantee::ExactlyOnce && !granted {
                    return Err(format!("job {job} completes with {token}, never granted"));
                }
                Ok(())
            }
            Event::Granted { job, token } => {
                let Some(record) = view.ledger.job(*job) else {
                    return Ok(());
                };
                let other = record.attempts.iter().find(|a| a.token != *token && a.started);
                match other {
                    Some(other) => {
                        Err(format!("job {job}: {token} granted beside {}", other.token))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
