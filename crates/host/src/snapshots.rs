//! When to save the state, and what may then be forgotten. The only place that knows how the state
//! becomes bytes and comes back.
//!
//! A snapshot is of one position, and is taken while the scheduler works: the state is frozen where a
//! batch ends, written in slices between rounds once that batch is durable, and thawed. While it is
//! not durable yet the next batch waits, because the chain is known only where an append ends.

use bellwether_core::model::{Config, Micros, Seq, Timestamp};
use bellwether_core::{Engine, Moment, State};
use bellwether_journal::state::{Encoder, LastPieces};
use bellwether_journal::{Head, Snapshot, SnapshotError, state};

use crate::defect::Defect;
use crate::edge::Edge;
use crate::host::Host;
use crate::mode::Mode;
use crate::reply::Reply;
use crate::unavailable::Unavailable;

/// Jobs, workers and the like in a slice. A thousand jobs take less than a millisecond.
const SLICE_THINGS: usize = 1_000;
/// From one slice to the next, so that who waits for the loop is served in between.
const SLICE_INTERVAL: Micros = Micros(4_000);
/// Pieces that wait for the disk at most.
const PIECES_AT_DISK_MAX: usize = 8;
/// A snapshot is worth its writing once there are so many events for each of its jobs: less is written
/// to it then than to the journal, also where jobs pile up and every snapshot is larger than the last.
const EVENTS_PER_JOB: u64 = 2;

/// Whoever had to replay this part of the events between two snapshots when it started saves what it has:
/// one that is killed again and again would else take longer with each start.
const REPLAYED_SHARE: u64 = 20;

/// The engine that a snapshot stands for; what the journal holds behind it is still to be replayed.
/// The configuration that an empty journal starts with is the default one: any other is an event.
pub fn restore(snapshot: Option<&Snapshot>) -> Result<Engine, SnapshotError> {
    match snapshot {
        Some(snapshot) => state::decode(&snapshot.bytes),
        None => Ok(Engine::new(Config::default())),
    }
}

/// How often a snapshot is taken, and in what portions.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotRule {
    /// Events between two at least.
    pub every: u64,
    /// Jobs, workers and the like that are written between two rounds at most.
    pub slice_things: usize,
}

impl SnapshotRule {
    pub fn every(events: u64) -> SnapshotRule {
        SnapshotRule { every: events, slice_things: SLICE_THINGS }
    }
}

/// What a driver is to do about a snapshot, in this order.
#[derive(Debug)]
pub enum SnapshotWork {
    /// Begin one of the state at this position.
    Begin(Head),
    /// Write this behind what is there, and say so: [`Host::handle_piece_written`].
    Piece(Vec<u8>),
    /// Write these, finish it, and say what became of it: [`Host::handle_snapshot_saved`].
    End(Box<LastPieces>),
    /// What was begun is worth nothing any more. Drop it, and say that it was not saved.
    Abandon,
}

pub(crate) struct Schedule<E: Edge> {
    rule: SnapshotRule,
    /// Those who want one that is not begun yet.
    wanted: Vec<E::SnapshotAsker>,
    taking: Option<Taking<E>>,
    /// The position of the last one that was begun.
    last: Seq,
    /// The last that is saved, and the one before.
    saved: Seq,
    saved_before: Seq,
    /// The driver has begun one, and has not said what became of it.
    writing: bool,
    /// The driver is to drop what it has begun.
    abandoned: bool,
    /// So much was replayed when this host came to life that it is to be saved at the next chance.
    overdue: bool,
}

/// A snapshot that is being taken.
struct Taking<E: Edge> {
    seq: Seq,
    /// Known once it is durable.
    head: Option<Head>,
    /// None once all of it was given out.
    encoder: Option<Encoder>,
    pieces_at_disk: usize,
    slice_at: Timestamp,
    askers: Vec<E::SnapshotAsker>,
}

impl<E: Edge> Schedule<E> {
    /// `saved` is the position of the snapshot that is there, and `head` how far the journal went behind it.
    pub(crate) fn new(rule: SnapshotRule, saved: Seq, head: Seq) -> Schedule<E> {
        let replayed = head.0.saturating_sub(saved.0);
        Schedule {
            rule,
            wanted: Vec::new(),
            taking: None,
            last: saved,
            saved,
            saved_before: saved,
            writing: false,
            abandoned: false,
            overdue: replayed >= (rule.every / REPLAYED_SHARE).max(1),
        }
    }

    fn is_due(&self, state: &State) -> bool {
        let events = state.seq().0.saturating_sub(self.last.0);
        let every = if self.overdue { 1 } else { self.rule.every };
        events >= every.max(state.jobs.len() as u64 * EVENTS_PER_JOB).max(1)
    }

    /// What was frozen is not durable yet, so nothing may be appended behind it.
    pub(crate) fn holds_batches(&self) -> bool {
        self.taking.as_ref().is_some_and(|taking| taking.head.is_none())
    }

    pub(crate) fn durable(&mut self, head: Head) {
        if let Some(taking) = &mut self.taking
            && taking.head.is_none()
            && taking.seq <= head.seq
        {
            taking.head = Some(Head { seq: taking.seq, chain: head.chain });
        }
    }

    /// When the next slice is to be written, if nothing else must happen first.
    pub(crate) fn next_slice(&self) -> Option<Timestamp> {
        let taking = self.taking.as_ref()?;
        let has_room = taking.pieces_at_disk < PIECES_AT_DISK_MAX;
        (taking.head.is_some() && taking.encoder.is_some() && has_room).then_some(taking.slice_at)
    }
}

impl<E: Edge> Host<E> {
    /// Somebody wants the state of this moment, or of a later one, to be saved.
    pub fn handle_snapshot_wish(&mut self, asker: E::SnapshotAsker) {
        match self.mode.refuses() {
            Some(why) => self.replies.give(Reply::Snapshot(asker, Err(why))),
            None => self.schedule.wanted.push(asker),
        }
    }

    /// A follower that has taken in what there was saves its state by the same rule as a leader, so that
    /// what led to it need not be kept here.
    pub fn save_as_follower(&mut self) {
        if self.mode == Mode::Following {
            self.begin_snapshot();
        }
    }

    /// Freezes the state if a snapshot is due. All that was decided has been given to the journal.
    pub(crate) fn begin_snapshot(&mut self) {
        let schedule = &mut self.schedule;
        let is_wanted = !schedule.wanted.is_empty() || schedule.is_due(self.engine.state());
        if !is_wanted || schedule.writing || schedule.taking.is_some() {
            return;
        }
        self.engine.freeze();
        let seq = self.engine.last_seq();
        schedule.last = seq;
        schedule.overdue = false;
        schedule.taking = Some(Taking {
            seq,
            head: None,
            encoder: Some(Encoder::new(self.engine.state(), Moment::Frozen)),
            pieces_at_disk: 0,
            slice_at: self.now,
            askers: std::mem::take(&mut schedule.wanted),
        });
        schedule.durable(self.durable);
        if self.has(Defect::SnapshotBeforeDurable) {
            self.schedule.durable(Head { seq, ..self.durable });
        }
    }

    /// What to do next about a snapshot, if it is time for that.
    pub fn poll_snapshot(&mut self) -> Option<SnapshotWork> {
        if std::mem::take(&mut self.schedule.abandoned) {
            return Some(SnapshotWork::Abandon);
        }
        let slice_at = self.schedule.next_slice()?;
        let taking = self.schedule.taking.as_mut()?;
        if !self.schedule.writing {
            self.schedule.writing = true;
            return taking.head.map(SnapshotWork::Begin);
        }
        if slice_at > self.now {
            return None;
        }
        taking.slice_at = self.now + SLICE_INTERVAL;
        let encoder = taking.encoder.as_mut()?;
        let piece = encoder.go_on(self.engine.state(), self.schedule.rule.slice_things);
        if piece.is_none() && encoder.has_all() {
            self.engine.thaw();
            let encoder = taking.encoder.take()?;
            return Some(SnapshotWork::End(Box::new(encoder.last_pieces())));
        }
        self.engine.seen(encoder.seen());
        taking.pieces_at_disk += usize::from(piece.is_some());
        piece.map(SnapshotWork::Piece)
    }

    pub fn handle_piece_written(&mut self) {
        if let Some(taking) = &mut self.schedule.taking {
            taking.pieces_at_disk -= 1;
        }
    }

    /// Gives the position before which the journal is no longer needed for recovery, if the
    /// snapshot is there.
    pub fn handle_snapshot_saved(&mut self, head: Head, is_saved: bool) -> Option<Seq> {
        self.schedule.writing = false;
        self.schedule.abandoned = false;
        // None if it was abandoned, and another may have been frozen since.
        let taken = self.schedule.taking.take_if(|taking| taking.seq == head.seq);
        if let Some(taken) = taken {
            self.engine.thaw();
            let told = if is_saved { Ok(head) } else { Err(Unavailable::NotSaved) };
            for asker in taken.askers {
                self.replies.give(Reply::Snapshot(asker, told));
            }
        }
        if !is_saved {
            return None;
        }
        let schedule = &mut self.schedule;
        schedule.saved_before = std::mem::replace(&mut schedule.saved, head.seq);
        Some(schedule.saved_before.next())
    }

    /// The state is about to be another one, or to be nobody's: nothing is taken of it.
    pub(crate) fn abandon_snapshot(&mut self) {
        if let Some(taking) = self.schedule.taking.take() {
            self.engine.thaw();
            self.schedule.abandoned = self.schedule.writing;
            self.schedule.wanted.extend(taking.askers);
        }
    }

    pub(crate) fn refuse_snapshots(&mut self, why: Unavailable) {
        for asker in self.schedule.wanted.drain(..) {
            self.replies.give(Reply::Snapshot(asker, Err(why)));
        }
    }

    /// What to save before the end, so that the next start is short.
    pub fn last_snapshot(&self) -> Option<(Head, &State)> {
        let is_new = self.mode == Mode::Stopped && self.durable.seq > self.schedule.saved;
        (is_new && self.is_durable()).then(|| (self.durable, self.engine.state()))
    }
}
