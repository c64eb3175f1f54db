//! The names of jobs and workers, as the events that pass by tell them; of older ones the registry
//! is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::Event;
use bellwether_core::model::{JobNo, JobSpec, Name, RunId, Seq, WorkerNo};
use bellwether_journal::Record;

use super::seen::Seen;
use crate::projections::registry::{JobNames, LookupError, Registry};

/// Jobs whose names are kept; the oldest are looked up again if they are still talked about.
const JOBS_MAX: usize = 200_000;

/// Shared by all who follow.
#[derive(Debug, Clone, Default)]
pub(super) struct Names {
    // Behind a lock because followers are many, and what one of them heard need not be looked up by
    // the next. It is held for one batch of events, never while somebody waits for the registry.
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    jobs: BTreeMap<JobNo, Arc<JobNames>>,
    workers: BTreeMap<WorkerNo, Arc<str>>,
}

#[derive(Debug, Default)]
struct Missing {
    jobs: Vec<JobNo>,
    workers: Vec<WorkerNo>,
}

impl Missing {
    fn note(&mut self, event: &Event, has_job: bool, has_worker: bool) {
        self.jobs.extend(event.job().filter(|_| !has_job));
        self.workers.extend(worker_of(event).filter(|_| !has_worker));
    }

    /// Each is asked for once.
    fn settle(&mut self) {
        self.jobs.sort_unstable();
        self.jobs.dedup();
        self.workers.sort_unstable();
        self.workers.dedup();
    }
}

impl Names {
    /// The events from the first position to the last, with their names, as far as anybody knows
    /// them.
    pub(super) async fn attach_names(
        &self,
        records: &[Arc<Record>],
        first: Seq,
        last: Seq,
        registry: &Registry,
    ) -> Result<Vec<Seen>, LookupError> {
        let (mut all, missing) = {
            let mut known = self.lock();
            let mut missing = Missing::default();
            let all = events(records, first, last).map(|(record, index)| {
                let event = &record.entries[index].event;
                known.hear(event);
                let (job, worker) = known.names(event);
                missing.note(event, job.is_some(), worker.is_some());
                Seen::new(Arc::clone(record), index, job, worker)
            });
            let all: Vec<Seen> = all.collect();
            missing.settle();
            known.forget_old();
            (all, missing)
        };
        if !missing.jobs.is_empty() || !missing.workers.is_empty() {
            // Whatever is not told here came before.
            registry.reach(Seq(first.0.saturating_sub(1))).await?;
            let found = look_up(missing, registry).await?;
            for seen in &mut all {
                let (job, worker) = found.names(&seen.entry().event);
                seen.fill_in(job, worker);
            }
            self.lock().learn(found);
        }
        Ok(all)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn look_up(missing: Missing, registry: &Registry) -> Result<Known, LookupError> {
    let Missing { jobs, workers } = missing;
    let numbers = workers.iter().map(|no| no.0).collect();
    let (job_names, worker_names) = registry.names(jobs.clone(), numbers).await?;
    Ok(Known {
        jobs: jobs.into_iter().zip(job_names.into_iter().map(Arc::new)).collect(),
        workers: workers.into_iter().zip(worker_names.into_iter().map(Arc::from)).collect(),
    })
}

impl Known {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Submitted { run, first, jobs } => {
                let run = run.as_ref().map(|run| &run.id);
                for (no, job) in (first.0..).map(JobNo).zip(jobs) {
                    self.jobs.entry(no).or_insert_with(|| Arc::new(names_of(&job.spec, run)));
                }
            }
            Event::WorkerJoined { worker, spec } => {
                self.workers.insert(*worker, spec.id.as_str().into());
            }
            _ => {}
        }
    }

    fn names(&self, event: &Event) -> (Option<Arc<JobNames>>, Option<Arc<str>>) {
        let job = event.job().and_then(|no| self.jobs.get(&no)).cloned();
        let worker = worker_of(event).and_then(|no| self.workers.get(&no)).cloned();
        (job, worker)
    }

    fn learn(&mut self, found: Self) {
        self.jobs.extend(found.jobs);
        self.workers.extend(found.workers);
        self.forget_old();
    }

    fn forget_old(&mut self) {
        while self.jobs.len() > JOBS_MAX {
            self.jobs.pop_first();
        }
    }
}

fn names_of(spec: &JobSpec, run: Option<&RunId>) -> JobNames {
    JobNames {
        id: spec.id.as_str().to_owned(),
        run_id: run.map_or_else(String::new, ToString::to_string),
        node: spec.node.as_ref().map_or(spec.id.as_str(), Name::as_str).to_owned(),
        kind: spec.kind().as_str().to_owned(),
    }
}

fn worker_of(event: &Event) -> Option<WorkerNo> {
    match event {
        Event::Assigned { worker, .. } | Event::Pinned { worker, .. } => Some(*worker),
        event => event.worker(),
    }
}

/// Where the entries between two positions lie.
fn events(
    records: &[Arc<Record>],
    first: Seq,
    last: Seq,
) -> impl Iterator<Item = (&Arc<Record>, usize)> {
    records.iter().flat_map(move |record| {
        let start = record.entries.partition_point(|entry| entry.seq < first);
        let end = record.entries.partition_point(|entry| entry.seq <= last);
        (start..end).map(move |index| (record, index))
    })
}
