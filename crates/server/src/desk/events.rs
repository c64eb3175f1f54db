//! Events from a position on, then as they happen. Each client reads the journal at its own pace,
//! so one that is slow or stuck costs nobody anything; one that takes nothing for long is let go.

use std::time::Duration;

use bellwether_core::model::{JobNo, Seq, WorkerNo};
use bellwether_core::{Entry, Event};
use bellwether_journal::envelope::{Place, envelopes};
use bellwether_journal::{Chain, Record};
use bellwether_wire::event::entry_to_wire;
use bellwether_wire::json::cloud_event;
use bellwether_wire::v1;
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use super::{Desk, Unanswered};
use crate::registry::JobNames;

/// Entries in one message, about.
const MESSAGE_ENTRIES: usize = 1_000;
const MESSAGES_MAX: usize = 4;
/// A client that takes nothing for this long is disconnected.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// Which events somebody wants to see.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventsWanted {
    /// None: from now on.
    pub(crate) from: Option<Seq>,
    /// None of them: all.
    pub(crate) kinds: Vec<String>,
    pub(crate) job: Option<String>,
    pub(crate) run: Option<String>,
    /// Go on as events happen; else it ends with what there is now.
    pub(crate) follow: bool,
}

pub(crate) type Events = mpsc::Receiver<Result<Vec<Seen>, Unanswered>>;

impl Desk {
    pub(crate) fn events(&self, wanted: EventsWanted) -> Events {
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX);
        let durable = self.handle.durable();
        let next = wanted.from.unwrap_or_else(|| durable.next());
        let until = (!wanted.follow).then_some(durable);
        let watcher = Watcher { desk: self.clone(), wanted, next, until };
        self.background.spawn(watcher.follow(sender));
        receiver
    }
}

struct Watcher {
    desk: Desk,
    wanted: EventsWanted,
    next: Seq,
    /// The last position of interest, if there is one.
    until: Option<Seq>,
}

impl Watcher {
    async fn follow(mut self, answers: mpsc::Sender<Result<Vec<Seen>, Unanswered>>) {
        let mut durable = self.desk.handle.watch_durable();
        loop {
            let next = self.next;
            if self.until.is_some_and(|until| next > until) {
                return;
            }
            tokio::select! {
                reached = durable.wait_for(|seq| *seq >= next) => {
                    if reached.is_err() {
                        return;
                    }
                }
                () = answers.closed() => return,
            }
            let message = self.read().await.transpose();
            let Some(message) = message else { continue };
            let failed = message.is_err();
            let sent = tokio::time::timeout(STUCK_AFTER, answers.send(message)).await;
            if failed || !matches!(sent, Ok(Ok(()))) {
                return;
            }
        }
    }

    /// The next events that are wanted; none if there were only others.
    async fn read(&mut self) -> Result<Option<Vec<Seen>>, Unanswered> {
        let durable = self.desk.handle.durable();
        let mut records = self.desk.history.read(self.next, MESSAGE_ENTRIES).await?;
        for record in &mut records {
            // A journal may know of more than has been announced; whoever reads on sees it next.
            record.entries.retain(|entry| entry.seq <= durable);
        }
        records.retain(|record| !record.entries.is_empty());
        let Some(last) = records.last().map(|record| record.head().seq) else { return Ok(None) };
        self.desk.registry.reach(last).await?;
        let names = self.names(&records).await?;
        let mut events = Vec::new();
        for record in &records {
            events.extend(self.wanted_of(record, &names));
        }
        self.next = last.next();
        Ok((!events.is_empty()).then_some(events))
    }

    async fn names(&self, records: &[Record]) -> Result<Names, Unanswered> {
        let entries = || records.iter().flat_map(|record| &record.entries);
        let mut jobs: Vec<JobNo> = entries().filter_map(|entry| entry.event.job()).collect();
        jobs.sort_unstable();
        jobs.dedup();
        let mut workers: Vec<u32> =
            entries().filter_map(|entry| worker_of(&entry.event)).map(|no| no.0).collect();
        workers.sort_unstable();
        workers.dedup();
        let found = self.desk.registry.names(jobs.clone(), workers.clone()).await;
        let (job_names, worker_names) = found?;
        Ok(Names {
            jobs: jobs.into_iter().zip(job_names).collect(),
            workers: workers.into_iter().zip(worker_names).collect(),
        })
    }

    fn wanted_of(&self, record: &Record, names: &Names) -> Vec<Seen> {
        envelopes(record, |_| Place::default())
            .zip(&record.entries)
            .filter_map(|(envelope, entry)| {
                let kinds = &self.wanted.kinds;
                if !kinds.is_empty() && !kinds.iter().any(|kind| kind == envelope.kind) {
                    return None;
                }
                let job = entry.event.job().and_then(|no| names.jobs.get(&no)).cloned();
                let job = job.unwrap_or_default();
                let other_run = self.wanted.run.as_ref().is_some_and(|run| *run != job.run_id);
                let other_job =
                    self.wanted.job.as_ref().is_some_and(|id| !is_about(entry, &job, id));
                if other_run || other_job {
                    return None;
                }
                let worker = worker_of(&entry.event).and_then(|no| names.workers.get(&no.0));
                Some(Seen {
                    entry: entry.clone(),
                    job,
                    worker: worker.cloned().unwrap_or_default(),
                    payload_hash: envelope.payload_hash,
                    prior_hash: envelope.prior_hash,
                    post_hash: envelope.post_hash,
                    error: envelope.error.unwrap_or_default().to_owned(),
                })
            })
            .collect()
    }
}

/// A submission is about all of its jobs.
fn is_about(entry: &Entry, job: &JobNames, id: &str) -> bool {
    match &entry.event {
        Event::Submitted { jobs, .. } => jobs.iter().any(|spec| spec.id.as_str() == id),
        _ => job.id == id,
    }
}

/// An event with what is needed to read it alone.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) entry: Entry,
    job: JobNames,
    worker: String,
    payload_hash: [u8; 32],
    prior_hash: Chain,
    post_hash: Chain,
    error: String,
}

impl Seen {
    pub(crate) fn names(&self) -> cloud_event::Names<'_> {
        cloud_event::Names {
            job_id: &self.job.id,
            run_id: &self.job.run_id,
            node: &self.job.node,
            worker_id: &self.worker,
        }
    }

    pub(crate) fn into_wire(self) -> v1::EventEnvelope {
        let Seen { entry, job, .. } = self;
        v1::EventEnvelope {
            seq: entry.seq.0,
            at: entry.at.0,
            parent: entry.parent.map_or(0, |parent| parent.0),
            kind: entry.event.name().to_owned(),
            run_id: job.run_id,
            node: job.node,
            job_id: job.id,
            worker_id: self.worker,
            payload: Some(entry_to_wire(&entry, entry.at)),
            payload_hash: self.payload_hash.to_vec().into(),
            prior_hash: self.prior_hash.0.to_vec().into(),
            post_hash: self.post_hash.0.to_vec().into(),
            error: self.error,
        }
    }
}

struct Names {
    jobs: FxHashMap<JobNo, JobNames>,
    workers: FxHashMap<u32, String>,
}

fn worker_of(event: &Event) -> Option<WorkerNo> {
    match event {
        Event::Assigned { worker, .. } | Event::Pinned { worker, .. } => Some(*worker),
        event => event.worker(),
    }
}
