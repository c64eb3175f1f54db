//! An id that somebody gave is that of one job, also when the scheduler has long forgotten it.

use std::collections::BTreeMap;

use bellwether_core::Event;
use bellwether_core::model::{JobId, JobNo, is_made_by_scheduler};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct OneIdOneJob {
    jobs: BTreeMap<JobId, JobNo>,
}

impl Invariant for OneIdOneJob {
    fn name(&self) -> &'static str {
        "one_id_one_job"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Committed { entry } = seen else { return Ok(()) };
        let Event::Submitted { first, jobs, .. } = &entry.event else { return Ok(()) };
        for (job, number) in jobs.iter().zip((first.0..).map(JobNo)) {
            let id = &job.spec.id;
            if !is_made_by_scheduler(id)
                && let Some(other) = self.jobs.insert(id.clone(), number)
            {
                return Err(format!("{id} is the id of job {other} and now of {number}"));
            }
        }
        Ok(())
    }
}
