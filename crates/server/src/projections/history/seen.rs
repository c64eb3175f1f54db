//! An event with what is needed to read it alone.

use std::sync::Arc;

use bellwether_core::model::Actor;
use bellwether_core::{Entry, Event};
use bellwether_journal::Record;
use bellwether_journal::envelope::envelope;
use bellwether_wire::event::entry_to_wire;
use bellwether_wire::json::cloud_event;
use bellwether_wire::v1;
use prost::Message as _;

use crate::projections::registry::JobNames;

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    record: Arc<Record>,
    index: usize,
    job: Option<Arc<JobNames>>,
    worker: Option<Arc<str>>,
    actor: Option<Arc<Actor>>,
}

impl Seen {
    pub(super) fn new(
        record: Arc<Record>,
        index: usize,
        job: Option<Arc<JobNames>>,
        worker: Option<Arc<str>>,
        actor: Option<Arc<Actor>>,
    ) -> Seen {
        Seen { record, index, job, worker, actor }
    }

    /// Puts names where there are none yet.
    pub(super) fn fill_in(
        &mut self,
        job: Option<Arc<JobNames>>,
        worker: Option<Arc<str>>,
        actor: Option<Arc<Actor>>,
    ) {
        self.job = self.job.take().or(job);
        self.worker = self.worker.take().or(worker);
        self.actor = self.actor.take().or(actor);
    }

    pub(crate) fn entry(&self) -> &Entry {
        &self.record.entries[self.index]
    }

    pub(crate) fn names(&self) -> cloud_event::Names<'_> {
        let job = self.job.as_deref();
        cloud_event::Names {
            job_id: job.map_or("", |job| &job.id),
            run_id: self.run_id(),
            node: job.map_or("", |job| &job.node),
            worker_id: self.worker.as_deref().unwrap_or_default(),
            actor: self.actor.as_deref().map_or("", |actor| actor.name.as_str()),
            peer: self
                .actor
                .as_deref()
                .and_then(|actor| actor.peer.as_ref())
                .map_or("", |peer| peer.as_str()),
        }
    }

    pub(crate) fn run_id(&self) -> &str {
        self.job.as_deref().map_or("", |job| &job.run_id)
    }

    /// A submission is about all of its jobs.
    pub(crate) fn is_about(&self, id: &str) -> bool {
        match &self.entry().event {
            Event::Submitted { jobs, .. } => jobs.iter().any(|job| job.spec.id.as_str() == id),
            _ => self.job.as_deref().is_some_and(|job| job.id == id),
        }
    }

    /// Once for each name that it is told by.
    pub(crate) fn to_wire(&self) -> impl Iterator<Item = v1::EventEnvelope> {
        let mut told = self.told_by_its_name();
        let before = self.entry().event.told_before().map(|kind| {
            let id = |place: usize| format!("{}.{place}", told.seq);
            let before = v1::EventEnvelope { kind: kind.to_owned(), id: id(0), ..told.clone() };
            told.id = id(1);
            before
        });
        before.into_iter().chain([told])
    }

    fn told_by_its_name(&self) -> v1::EventEnvelope {
        let names = self.names();
        let entry = self.entry();
        let envelope = envelope(&self.record, entry);
        let payload = entry_to_wire(entry, entry.at);
        v1::EventEnvelope {
            seq: entry.seq.0,
            id: entry.seq.to_string(),
            at: entry.at.0,
            parent: entry.parent.map_or(0, |parent| parent.0),
            kind: envelope.kind.to_owned(),
            run_id: names.run_id.to_owned(),
            node: names.node.to_owned(),
            job_id: names.job_id.to_owned(),
            worker_id: names.worker_id.to_owned(),
            actor: names.actor.to_owned(),
            peer: names.peer.to_owned(),
            // Of what is delivered here, so that whoever gets it can check it.
            payload_hash: blake3::hash(&payload.encode_to_vec()).as_bytes().to_vec().into(),
            payload: Some(payload),
            prior_hash: envelope.prior_hash.0.to_vec().into(),
            post_hash: envelope.post_hash.0.to_vec().into(),
            error: envelope.error.unwrap_or_default().to_owned(),
        }
    }
}
