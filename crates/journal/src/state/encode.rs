//! The facts, piece by piece.

use std::collections::{BTreeMap, BTreeSet};

use bellwether_core::model::{
    Actors, Attempt, Handoff, Invitation, JobNo, KeyBinding, Micros, Name, Phase, TakenKey, Ticket,
    Timestamp, WorkerId, WorkerNo,
};
use bellwether_core::place::hedge::AckTimes;
use bellwether_core::place::predictor::Statistics;
use bellwether_core::{Job, JobState, Moment, Seen, State};
use bellwether_wire::{Mirror as _, snapshot as wire, v1};
use prost::Message;

use super::FORMAT;
use crate::codec::encode::{Terms, about_job, encode_spec};
use crate::codec::writer::Writer as _;

/// A piece ends with the thing that makes it as long as this.
const PIECE_BYTES: usize = 256 << 10;

/// A list has been read to its end.
const END: u64 = u64::MAX;

/// Writes the facts of one moment, a few at a time. What is small is copied at the beginning; the lists
/// are read from a state that was frozen at that moment, or that does not change.
#[derive(Debug)]
pub struct Encoder {
    out: Out,
    moment: Moment,
    seen: Seen,
    rest: Rest,
}

/// All that follows the lists. It needs no state any more, so another thread can write it.
#[derive(Debug)]
pub struct LastPieces {
    out: Out,
    rest: Rest,
}

/// What is bounded by fixed limits, as it was.
#[derive(Debug)]
struct Rest {
    actors: Actors,
    paused: BTreeSet<Name>,
    model_loads: BTreeMap<Name, Micros>,
    last_runs: BTreeMap<(u32, u32), WorkerNo>,
    statistics: Statistics,
    acknowledgements: BTreeMap<u32, AckTimes>,
    worker_keys: BTreeMap<WorkerId, KeyBinding>,
    invitations: BTreeMap<Ticket, Invitation>,
    handoffs: BTreeMap<JobNo, Vec<Handoff>>,
}

impl Encoder {
    /// Of the state as it is now, which must not change before it is written, or be frozen at this
    /// moment and stay so.
    pub fn new(state: &State, moment: Moment) -> Encoder {
        let mut out = Out::default();
        out.message(1, &wire::header_to_wire(FORMAT, state));
        let rest = Rest {
            actors: state.actors.clone(),
            paused: state.paused.clone(),
            model_loads: state.model_loads.clone(),
            last_runs: state.last_runs.clone(),
            statistics: state.statistics.clone(),
            acknowledgements: state.hedging.by_type.clone(),
            worker_keys: state.worker_keys.clone(),
            invitations: state.invitations.clone(),
            handoffs: state.handoffs.clone(),
        };
        Encoder { out, moment, seen: Seen::default(), rest }
    }

    /// Goes on by at most so many things, and by no more than a piece. Gives that piece, if it is whole,
    /// with its length before it.
    pub fn go_on(&mut self, state: &State, things_max: usize) -> Option<Vec<u8>> {
        let (seen, out) = (&mut self.seen, &mut self.out);
        let mut left = things_max;
        let jobs = state.jobs.iter_at(self.moment, seen.jobs);
        each(&mut seen.jobs, &mut left, out, jobs, |out, no, job| {
            out.item(2, 60 + about_job(&job.spec), |b| encode_job(b, no, job));
            no.0
        });
        let runs = state.runs.iter_at(self.moment, seen.runs);
        each(&mut seen.runs, &mut left, out, runs, |out, no, run| {
            out.item(3, 0, |b| {
                b.uint(1, no.0);
                b.name(2, Some(&run.id));
                b.uint(3, u64::from(run.remembered));
                b.uint(4, u64::from(run.live));
            });
            no.0
        });
        let workers = state.workers.iter_at(self.moment, seen.workers);
        each(&mut seen.workers, &mut left, out, workers, |out, no, worker| {
            out.message(4, &wire::worker_to_wire(no, worker));
            u64::from(no.0)
        });
        let ended = state.ended.iter_at(self.moment, seen.ended);
        each(&mut seen.ended, &mut left, out, ended, |out, number, (at, job)| {
            out.item(5, 0, |b| end(b, job.0, *at));
            number
        });
        let gone = state.gone.iter_at(self.moment, seen.gone);
        each(&mut seen.gone, &mut left, out, gone, |out, number, (at, worker)| {
            out.item(6, 0, |b| end(b, u64::from(worker.0), *at));
            number
        });
        let keys = state.keys.iter_at(self.moment, seen.keys);
        each(&mut seen.keys, &mut left, out, keys, |out, number, key| {
            out.item(7, 0, |b| taken_key(b, key));
            number
        });
        let ids = state.ids.iter_at(self.moment, seen.ids);
        each(&mut seen.ids, &mut left, out, ids, |out, number, id| {
            out.item(70, 0, |b| taken_key(b, id));
            number
        });
        self.out.whole.take()
    }

    /// How far it has come.
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Whether the lists are written: then the state is no longer needed.
    pub fn has_all(&self) -> bool {
        self.seen.ids == END
    }

    /// # Panics
    /// If there is still something to be read.
    pub fn last_pieces(self) -> LastPieces {
        assert!(self.has_all(), "the lists come first");
        LastPieces { out: self.out, rest: self.rest }
    }
}

impl LastPieces {
    pub fn write<E>(self, mut each: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let LastPieces { mut out, rest } = self;
        let mut put = |out: &mut Out| out.whole.take().map_or(Ok(()), |piece| each(&piece));
        for (number, known) in rest.actors.iter() {
            out.message(120, &wire::actor_to_wire(number, known));
            put(&mut out)?;
        }
        for paused in &rest.paused {
            out.put(|b| b.name(8, Some(paused)));
            put(&mut out)?;
        }
        for (model, took) in &rest.model_loads {
            out.message(9, &wire::model_to_wire(model, *took));
            put(&mut out)?;
        }
        for ((r#type, sender), worker) in &rest.last_runs {
            let (r#type, sender) = (*r#type, *sender);
            out.message(10, &v1::LastRunFacts { r#type, sender, worker: worker.0 });
            put(&mut out)?;
        }
        let statistics = rest.statistics.facts();
        for name in &statistics.names {
            out.put(|b| b.name(11, Some(name)));
            put(&mut out)?;
        }
        for cell in &statistics.cells {
            out.message(12, &wire::cell_to_wire(cell));
            put(&mut out)?;
        }
        for each in &statistics.types {
            out.message(13, &wire::type_to_wire(each));
            put(&mut out)?;
        }
        for each in &statistics.machines {
            out.message(14, &wire::machine_to_wire(each));
            put(&mut out)?;
        }
        for (r#type, times) in &rest.acknowledgements {
            let (r#type, AckTimes { samples, mean, deviation }) = (*r#type, *times);
            out.message(15, &v1::AcknowledgementFacts { r#type, samples, mean, deviation });
            put(&mut out)?;
        }
        for (worker, bound) in &rest.worker_keys {
            out.message(140, &wire::key_facts_to_wire(worker, bound));
            put(&mut out)?;
        }
        for (ticket, open) in &rest.invitations {
            out.message(141, &wire::invitation_to_wire(*ticket, open));
            put(&mut out)?;
        }
        for (job, chain) in &rest.handoffs {
            out.message(142, &wire::handoffs_to_wire(*job, chain));
            put(&mut out)?;
        }
        let count = out.count + 1;
        out.piece.uint(16, count);
        out.end_piece();
        put(&mut out)
    }
}

/// Writes what `things` gives, until there is nothing left to do or a piece is whole. `write` says the
/// position of what it has written.
fn each<K, V>(
    seen: &mut u64,
    left: &mut usize,
    out: &mut Out,
    things: impl Iterator<Item = (K, V)>,
    mut write: impl FnMut(&mut Out, K, V) -> u64,
) {
    if *seen == END || *left == 0 || out.whole.is_some() {
        return;
    }
    for (key, thing) in things {
        if *left == 0 || out.whole.is_some() {
            return;
        }
        *seen = write(out, key, thing) + 1;
        *left -= 1;
    }
    *seen = END;
}

#[derive(Debug, Default)]
struct Out {
    piece: Vec<u8>,
    count: u64,
    /// A piece that nobody has taken yet, with its length before it.
    whole: Option<Vec<u8>>,
}

impl Out {
    fn put(&mut self, body: impl FnOnce(&mut Vec<u8>)) {
        body(&mut self.piece);
        if self.piece.len() >= PIECE_BYTES {
            self.end_piece();
        }
    }

    fn item(&mut self, tag: u32, about: usize, body: impl FnOnce(&mut Vec<u8>)) {
        self.put(|piece| piece.message(tag, about, body));
    }

    fn message(&mut self, tag: u32, message: &impl Message) {
        self.put(|piece| prost::encoding::message::encode(tag, message, piece));
    }

    fn end_piece(&mut self) {
        assert!(self.whole.is_none(), "a piece is taken before the next one is whole");
        let mut whole = Vec::with_capacity(self.piece.len() + 10);
        whole.varint(self.piece.len() as u64);
        whole.extend_from_slice(&self.piece);
        self.whole = Some(whole);
        self.piece.clear();
        self.count += 1;
    }
}

fn encode_job(b: &mut Vec<u8>, no: JobNo, job: &Job) {
    b.uint(1, no.0);
    let terms = Terms {
        waits_for: &job.dependencies,
        predicted: job.predicted,
        rank: job.rank,
        // It counts among the broken.
        doomed: false,
    };
    b.message(2, about_job(&job.spec), |b| encode_spec(b, &job.spec, &terms));
    match &job.state {
        JobState::Waiting { unmet } => b.present_uint(3, u64::from(*unmet)),
        JobState::Delayed { until } => b.present_uint(4, until.0),
        JobState::Ready => b.boolean(5, true),
        JobState::Active(attempts) => b.message(6, 0, |b| {
            attempts.iter().for_each(|attempt| b.message(1, 0, |b| encode_attempt(b, attempt)));
        }),
        JobState::Completed { token, result_hash } => b.message(7, 0, |b| {
            b.uint(1, token.0);
            b.bytes(2, result_hash);
        }),
        JobState::Failed { cause } => b.present_uint(8, cause.to_wire() as u64),
        JobState::Cancelled => b.boolean(9, true),
        JobState::Skipped { because } => b.present_uint(10, because.0),
        JobState::DeadLettered { reason } => b.present_uint(11, reason.to_wire() as u64),
    }
    b.uint(12, job.run.map_or(0, |run| run.0));
    b.uint(13, job.submitted_at.0);
    b.uint(14, u64::from(job.attempts));
    b.uint(15, u64::from(job.counts.failures));
    b.uint(16, u64::from(job.counts.crashes));
    b.uint(17, u64::from(job.counts.returns));
    if let Some(escalated) = &job.escalated {
        b.message(18, 0, |b| {
            b.uint(1, escalated.priority.to_wire() as u64);
            b.name(2, escalated.role.as_ref());
        });
    }
    b.name(19, job.pinned.as_deref());
    b.uint(21, job.ended_at.0);
    b.uint(22, u64::from(job.broken));
    if !job.dependents.is_empty() {
        b.message(23, 0, |b| job.dependents.iter().for_each(|job| b.varint(job.0)));
    }
    b.uint(24, u64::from(job.locality.number()));
    b.uint(25, job.last.0);
    b.uint(26, u64::from(job.avoid.number()));
}

fn encode_attempt(b: &mut Vec<u8>, attempt: &Attempt) {
    b.uint(1, attempt.token.0);
    b.uint(2, u64::from(attempt.worker.0));
    b.uint(3, attempt.offered_at.0);
    b.uint(4, attempt.predicted.0);
    b.boolean(5, attempt.hedge);
    b.boolean(6, attempt.short);
    b.uint(7, attempt.phase.since().0);
    match attempt.phase {
        Phase::Offered { quiet_at, .. } => b.uint(8, quiet_at.0),
        Phase::Running { timeout_at, stalled_at, .. } => {
            b.present_uint(9, timeout_at.0);
            if let Some(stalled_at) = stalled_at {
                b.present_uint(10, stalled_at.0);
            }
        }
    }
}

fn taken_key(b: &mut Vec<u8>, key: &TakenKey) {
    b.name(1, Some(&key.name));
    b.uint(2, key.job.0);
    b.uint(3, key.at.0);
}

fn end(b: &mut Vec<u8>, number: u64, at: Timestamp) {
    b.uint(1, number);
    b.uint(2, at.0);
}
