//! The names of jobs and workers, as the events that pass by tell them; of older ones the registry
//! is asked.

use std::collections::BTreeMap;

use bellwether_core::model::{JobNo, Name, Seq, WorkerNo};
use bellwether_core::{Entry, Event};
use bellwether_wire::json::cloud_event;

use crate::registry::{LookupError, Registry};

/// Jobs whose names are kept; the oldest are looked up again if they are still talked about.
const JOBS_MAX: usize = 200_000;

#[derive(Debug, Default)]
pub(super) struct Names {
    jobs: BTreeMap<JobNo, JobNames>,
    workers: BTreeMap<WorkerNo, String>,
}

#[derive(Debug)]
struct JobNames {
    id: Box<str>,
    run_id: Option<Name>,
    node: Box<str>,
}

impl Names {
    /// Makes sure that all names in these entries are known, as far as anybody knows them.
    pub(super) async fn learn(
        &mut self,
        entries: &[Entry],
        registry: &Registry,
    ) -> Result<(), LookupError> {
        for entry in entries {
            self.hear(&entry.event);
        }
        let mut jobs: Vec<JobNo> = entries
            .iter()
            .filter_map(|entry| entry.event.job())
            .filter(|no| !self.jobs.contains_key(no))
            .collect();
        let mut workers: Vec<WorkerNo> = entries
            .iter()
            .filter_map(|entry| worker_of(&entry.event))
            .filter(|no| !self.workers.contains_key(no))
            .collect();
        if jobs.is_empty() && workers.is_empty() {
            return Ok(());
        }
        jobs.sort_unstable();
        jobs.dedup();
        workers.sort_unstable();
        workers.dedup();
        registry.reach(entries.last().map_or(Seq(0), |entry| entry.seq)).await?;
        let numbers = workers.iter().map(|no| no.0).collect();
        let (job_names, worker_names) = registry.names(jobs.clone(), numbers).await?;
        for (no, names) in jobs.into_iter().zip(job_names) {
            let run_id = Name::new(&names.run_id).ok();
            let known = JobNames { id: names.id.into(), run_id, node: names.node.into() };
            self.jobs.insert(no, known);
        }
        self.workers.extend(workers.into_iter().zip(worker_names));
        Ok(())
    }

    pub(super) fn of(&self, event: &Event) -> cloud_event::Names<'_> {
        let job = event.job().and_then(|no| self.jobs.get(&no));
        let worker = worker_of(event).and_then(|no| self.workers.get(&no));
        cloud_event::Names {
            job_id: job.map_or("", |job| &job.id),
            run_id: job.and_then(|job| job.run_id.as_ref()).map_or("", Name::as_str),
            node: job.map_or("", |job| &job.node),
            worker_id: worker.map_or("", String::as_str),
        }
    }

    pub(super) fn forget_old(&mut self) {
        while self.jobs.len() > JOBS_MAX {
            self.jobs.pop_first();
        }
    }

    fn hear(&mut self, event: &Event) {
        match event {
            Event::Submitted { run, first, jobs } => {
                for (number, spec) in (first.0..).zip(jobs) {
                    let names = JobNames {
                        id: spec.id.as_str().into(),
                        run_id: run.as_ref().map(|run| run.id.clone()),
                        node: spec.node.as_ref().map_or("", Name::as_str).into(),
                    };
                    self.jobs.insert(JobNo(number), names);
                }
            }
            Event::WorkerJoined { worker, spec } => {
                self.workers.insert(*worker, spec.id.to_string());
            }
            _ => {}
        }
    }
}

fn worker_of(event: &Event) -> Option<WorkerNo> {
    match event {
        Event::Assigned { worker, .. } | Event::Pinned { worker, .. } => Some(*worker),
        event => event.worker(),
    }
}
