//! The host itself: what it is made of, and how a reign begins and ends.

use std::collections::VecDeque;
use std::fmt;

use bellwether_core::model::{Config, Epoch, Micros, Seq, Timestamp, WorkerId, WorkerNo};
use bellwether_core::{Engine, Entry, State};
use bellwether_journal::Head;

use crate::FixedMap;
use crate::clock::{Reading, Timeline};
use crate::defect::Defect;
use crate::edge::{Edge, Observer};
use crate::mode::Mode;
use crate::outbox::Outbox;
use crate::reply::{Replies, Reply};
use crate::snapshots::{Schedule, SnapshotRule};
use crate::unavailable::Unavailable;
use crate::waiters::{Ended, Waiters};

/// Events that may wait for the journal before commands must.
const EVENTS_WAITING_MAX: u64 = 200_000;
/// How often a full disk is looked at.
pub(crate) const PROBE_INTERVAL: Micros = Micros(500_000);

/// The engine with everything around it that is not I/O. See the crate's documentation for the
/// order of calls.
pub struct Host<E: Edge> {
    pub(crate) engine: Engine,
    pub(crate) mode: Mode,
    pub(crate) epoch: Epoch,
    /// Whether no other scheduler can have taken over, as far as the driver knows.
    pub(crate) lease_holds: bool,
    /// When the lease was last looked at.
    pub(crate) lease_seen: Micros,
    pub(crate) timeline: Timeline,
    /// The latest time, and what the wall clock showed then.
    pub(crate) now: Timestamp,
    pub(crate) wall: Timestamp,
    /// Until then it takes in what has come and gives nobody up.
    pub(crate) listens_until: Timestamp,
    /// When it last had listened enough.
    pub(crate) listened_at: Timestamp,
    /// Messages that came while too much waited for the journal.
    deferred: VecDeque<E::Message>,
    /// The last positions of the batches at the journal.
    pub(crate) in_flight: VecDeque<Seq>,
    /// Since when the journal has not said that anything is durable, if batches are there.
    pub(crate) unanswered_since: Timestamp,
    pub(crate) sent: Seq,
    pub(crate) durable: Head,
    pub(crate) replies: Replies<E>,
    pub(crate) outbox: Outbox<E>,
    /// The instance and the latest connection of each worker.
    pub(crate) connections: FixedMap<WorkerId, (u64, u64)>,
    pub(crate) waiters: Waiters<E::Watcher>,
    pub(crate) swept_at: Timestamp,
    pub(crate) schedule: Schedule<E>,
    /// The settings that the reign began with, as long as nothing of it is durable.
    pub(crate) unkept: Option<Config>,
    defect: Option<Defect>,
}

impl<E: Edge> Host<E> {
    /// A host that follows. `head` is where the engine is in the journal; `snapshot` the position
    /// of the last snapshot, after which others are due by this rule.
    pub fn new(engine: Engine, head: Head, snapshot: Seq, rule: SnapshotRule) -> Host<E> {
        Host {
            sent: engine.last_seq(),
            engine,
            mode: Mode::Following,
            epoch: Epoch::default(),
            lease_holds: true,
            lease_seen: Micros(0),
            timeline: Timeline::default(),
            now: Timestamp(0),
            wall: Timestamp(0),
            listens_until: Timestamp(0),
            listened_at: Timestamp(0),
            deferred: VecDeque::new(),
            in_flight: VecDeque::new(),
            unanswered_since: Timestamp(0),
            durable: head,
            replies: Replies::default(),
            outbox: Outbox::default(),
            connections: FixedMap::default(),
            waiters: Waiters::default(),
            swept_at: Timestamp(0),
            schedule: Schedule::new(rule, snapshot, head.seq),
            unkept: None,
            defect: None,
        }
    }

    /// What another scheduler has decided and made durable.
    pub fn handle_entries(&mut self, entries: &[Entry], head: Head) {
        assert_eq!(self.mode, Mode::Following, "only a follower is told what to think");
        entries.iter().for_each(|entry| self.engine.replay(entry));
        self.sent = head.seq;
        self.durable = head;
    }

    /// What the others know stands in this state: what led to it is no longer kept.
    pub fn handle_state(&mut self, engine: Engine, head: Head) {
        assert_eq!(self.mode, Mode::Following, "only a follower is told what to think");
        self.abandon_snapshot();
        self.stand_on(engine, head);
    }

    /// The journal is this host's from now on, in this epoch. Settings that are given hold from now
    /// on; else those of the journal do.
    pub fn reign(
        &mut self,
        reading: Reading,
        epoch: Epoch,
        settings: Option<Config>,
        observer: &mut impl Observer,
    ) {
        self.keep_time(reading);
        self.epoch = epoch;
        self.lease_holds = true;
        self.unkept.clone_from(&settings);
        #[cfg(feature = "defects")]
        if self.has(Defect::ForgetsPredictions) {
            self.engine.forget_statistics();
        }
        self.begin(settings, observer);
    }

    /// The scheduler's time goes on from here.
    pub(crate) fn keep_time(&mut self, reading: Reading) {
        let last = match self.has(Defect::ClockGoesBack) {
            true => Timestamp(0),
            false => self.state().event_time(),
        };
        self.timeline = Timeline::begin(reading, last);
        self.now = self.time_at(reading);
        self.wall = reading.wall;
        self.swept_at = self.now;
        self.listens_until = self.now;
        self.listened_at = self.now;
    }

    /// Nothing more is taken, and whoever still waits is sent away.
    pub fn handle_stop(&mut self) {
        if self.is_doubtful() {
            self.replies.withdraw();
            self.waiters.withdraw();
            self.outbox.end_all(Unavailable::Deposed);
        }
        self.mode = Mode::Stopped;
        self.abandon_snapshot();
        self.refuse_snapshots(Unavailable::ShuttingDown);
        self.replies.fail(Unavailable::ShuttingDown, &mut self.outbox);
        self.outbox.say_reconnect();
        self.waiters.clear();
    }

    pub(crate) fn stand_on(&mut self, engine: Engine, head: Head) {
        self.sent = engine.last_seq();
        self.engine = engine;
        self.durable = head;
    }

    /// Commands wait while too many events do, and while the state is built anew.
    pub fn must_wait(&self) -> bool {
        let waiting = self.engine.last_seq().0.saturating_sub(self.durable.seq.0);
        match self.mode {
            Mode::Reigning => waiting > EVENTS_WAITING_MAX,
            Mode::Rebuilding { .. } => true,
            Mode::Following | Mode::Full { .. } | Mode::Deposed | Mode::Stopped => false,
        }
    }

    /// Keeps a message for later, because it must wait.
    pub fn defer(&mut self, message: E::Message) {
        self.deferred.push_back(message);
    }

    /// The next message that need wait no longer.
    pub fn poll_deferred(&mut self) -> Option<E::Message> {
        if self.must_wait() { None } else { self.deferred.pop_front() }
    }

    /// An answer that may be given now.
    pub fn poll_reply(&mut self) -> Option<Reply<E>> {
        if self.is_doubtful() { None } else { self.replies.poll() }
    }

    /// What a watcher is to be told now.
    pub fn poll_watched(&mut self) -> Option<(E::Watcher, Ended)> {
        if self.is_doubtful() { None } else { self.waiters.poll() }
    }

    /// When to begin the next round at the latest: to call [`Host::handle_tick`] or, with a full
    /// disk, to probe it.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        match self.mode {
            // While the journal is behind, a tick would only add to the heap.
            Mode::Reigning if self.must_wait() => self.schedule.next_slice(),
            Mode::Reigning => {
                [self.next_round(), self.schedule.next_slice()].into_iter().flatten().min()
            }
            Mode::Full { probe_at } => Some(probe_at),
            Mode::Following => self.schedule.next_slice(),
            Mode::Rebuilding { .. } | Mode::Deposed | Mode::Stopped => None,
        }
    }

    pub fn mode(&self) -> Mode {
        self.mode
    }

    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// It may be ahead of [`Host::durable`].
    pub fn state(&self) -> &State {
        self.engine.state()
    }

    pub fn durable(&self) -> Head {
        self.durable
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The latest time that it was given.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// Whether all that was decided is durable.
    pub fn is_durable(&self) -> bool {
        self.engine.last_seq() == self.durable.seq
    }

    /// Whether nothing is undecided, unwritten or untold.
    pub fn is_quiet(&self) -> bool {
        self.is_durable()
            && self.in_flight.is_empty()
            && self.deferred.is_empty()
            && self.replies.is_empty()
    }

    pub fn is_connected(&self, worker: WorkerNo) -> bool {
        self.outbox.is_connected(worker)
    }

    /// Workers that have a session.
    pub fn connected(&self) -> usize {
        self.outbox.connected()
    }

    /// Switches a known bug on, to show that the simulator catches it.
    pub fn plant(&mut self, defect: Defect) {
        self.defect = Some(defect);
    }

    pub(crate) fn has(&self, defect: Defect) -> bool {
        cfg!(feature = "defects") && self.defect == Some(defect)
    }
}

impl<E: Edge> fmt::Debug for Host<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("mode", &self.mode)
            .field("epoch", &self.epoch)
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}
