//! The names of jobs and workers, as the events that pass by tell them; of older ones the registry
//! is asked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::model::{Actor, ActorNo, JobNo, JobSpec, Name, RunId, Seq, WorkerNo};
use bellwether_core::{Entry, Event};
use bellwether_journal::Record;

use super::seen::Seen;
use crate::projections::registry::{JobNames, LookupError, Registry};

/// Jobs whose names are kept; the oldest are looked up again if they are still talked about.
const JOBS_MAX: usize = 200_000;

/// Actors whose names are kept.
const ACTORS_KEPT: usize = 10_000;

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
    actors: BTreeMap<ActorNo, Arc<Actor>>,
}

/// What is known of the names in an entry.
type Named = (Option<Arc<JobNames>>, Option<Arc<str>>, Option<Arc<Actor>>);

#[derive(Debug, Default)]
struct Missing {
    jobs: Vec<JobNo>,
    workers: Vec<WorkerNo>,
    actors: Vec<ActorNo>,
}

impl Missing {
    fn note(&mut self, entry: &Entry, (job, worker, actor): &Named) {
        self.jobs.extend(entry.event.job().filter(|_| job.is_none()));
        self.workers.extend(worker_of(&entry.event).filter(|_| worker.is_none()));
        self.actors.extend(actor_of(entry).filter(|_| actor.is_none()));
    }

    fn is_empty(&self) -> bool {
        self.jobs.is_empty() && self.workers.is_empty() && self.actors.is_empty()
    }

    /// Each is asked for once.
    fn settle(&mut self) {
        self.jobs.sort_unstable();
        self.jobs.dedup();
        self.workers.sort_unstable();
        self.workers.dedup();
        self.actors.sort_unstable();
        self.actors.dedup();
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
                let entry = &record.entries[index];
                known.hear(&entry.event);
                let named = known.names(entry);
                missing.note(entry, &named);
                let (job, worker, actor) = named;
                Seen::new(Arc::clone(record), index, job, worker, actor)
            });
            let all: Vec<Seen> = all.collect();
            missing.settle();
            known.forget_old();
            (all, missing)
        };
        if !missing.is_empty() {
            // Whatever is not told here came before.
            registry.reach(Seq(first.0.saturating_sub(1))).await?;
            let found = look_up(missing, registry).await?;
            for seen in &mut all {
                let (job, worker, actor) = found.names(seen.entry());
                seen.fill_in(job, worker, actor);
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
    let Missing { jobs, workers, actors } = missing;
    let numbers = workers.iter().map(|no| no.0).collect();
    let (job_names, worker_names) = registry.names(jobs.clone(), numbers).await?;
    let found = registry.actors(actors.clone()).await?;
    let actors = actors.into_iter().zip(found);
    Ok(Known {
        actors: actors.filter_map(|(no, actor)| Some((no, Arc::new(actor?)))).collect(),
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
            Event::ActorNamed { number, actor } => {
                self.actors.insert(*number, Arc::new(actor.clone()));
            }
            _ => {}
        }
    }

    fn names(&self, entry: &Entry) -> Named {
        let job = entry.event.job().and_then(|no| self.jobs.get(&no)).cloned();
        let worker = worker_of(&entry.event).and_then(|no| self.workers.get(&no)).cloned();
        let actor = actor_of(entry).and_then(|no| self.actors.get(&no)).cloned();
        (job, worker, actor)
    }

    fn learn(&mut self, found: Self) {
        self.jobs.extend(found.jobs);
        self.workers.extend(found.workers);
        self.actors.extend(found.actors);
        self.forget_old();
    }

    fn forget_old(&mut self) {
        while self.jobs.len() > JOBS_MAX {
            self.jobs.pop_first();
        }
        while self.actors.len() > ACTORS_KEPT {
            self.actors.pop_first();
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

fn actor_of(entry: &Entry) -> Option<ActorNo> {
    (entry.actor != ActorNo::default()).then_some(entry.actor)
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
