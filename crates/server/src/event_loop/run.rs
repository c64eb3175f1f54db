//! The loop itself: one thread that drives the host.
//!
//! It hands in everything that waits, gives the events to the journal's thread, and goes on
//! gathering while the disk works. What the host releases is sent: answers, and one message to each
//! worker.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use bellwether_core::Engine;
use bellwether_core::model::{Config, Seq, Timestamp};
use bellwether_host::{BATCHES_IN_FLIGHT_MAX, Host, SnapshotRule};
use bellwether_journal::{Head, Journal, JournalThread, Lease, Snapshots};
use tokio::sync::{oneshot, watch};

use super::message::{Message, ServerEdge, Wait};
use super::recovery::RecoverError;
use super::retire::Retiring;
use super::settings::SettingsFile;
use super::snapshot::Saving;
use super::view::View;
use crate::cluster::{Room, Seat, Standing};
use crate::event_loop::clock::{self, Wall};
use crate::event_loop::fatal::{self, Fatal};
use crate::event_loop::space::SpaceProbe;
use crate::identity::Identity;
use crate::projections::history::{Followers, TailEnd};
use crate::projections::keys::KeysFeed;
use crate::projections::registry::Feed;
use crate::projections::telemetry;
use crate::sinks::metrics::Meters;

/// Commands handled before what came of them is handed to the journal.
const ROUND_COMMANDS_MAX: usize = 8_192;
/// How often the lease of a reign is looked at while nothing happens, and while it does not hold.
const LEASE_INTERVAL: Duration = Duration::from_millis(50);
const DOUBT_INTERVAL: Duration = Duration::from_millis(5);

/// Where a scheduler stands when it starts.
pub(crate) enum Place {
    /// The journal is its own.
    Alone(Box<dyn Journal>),
    /// It follows from here until it is its turn.
    Among { seat: Seat, room: Room, head: Head, snapshots: Box<dyn Snapshots> },
}

impl Place {
    pub(crate) fn seat(&self) -> Option<&Seat> {
        match self {
            Place::Alone(_) => None,
            Place::Among { seat, .. } => Some(seat),
        }
    }
}

/// What a loop is made of.
pub(crate) struct Parts {
    pub(crate) place: Place,
    pub(crate) engine: Engine,
    pub(crate) identity: Identity,
    pub(crate) config: Config,
    pub(crate) settings: SettingsFile,
    pub(crate) snapshot_every: u64,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) sender: Sender<Message>,
    pub(crate) durable: watch::Sender<Seq>,
    pub(crate) standing: watch::Sender<Standing>,
    pub(crate) wall: Wall,
    pub(crate) feed: Feed,
    pub(crate) keys: KeysFeed,
    pub(crate) followers: Followers,
    pub(crate) tail: TailEnd,
    /// None if nobody looks on.
    pub(crate) telemetry: Option<telemetry::Feed>,
    pub(crate) space: SpaceProbe,
}

pub(crate) struct Loop {
    pub(super) host: Host<ServerEdge>,
    /// None while the state is rebuilt, and while another leads.
    pub(super) journal: Option<JournalThread>,
    /// Until when the journal can't be another's.
    pub(super) lease: Lease,
    /// The way to the other schedulers, if there are any.
    pub(super) seat: Option<Seat>,
    pub(super) room: Option<Room>,
    /// While another is to lead by our own wish.
    pub(super) retiring: Option<Retiring>,
    /// Learnt from the journal, if it is that of several.
    pub(super) identity: Identity,
    /// What the file says, for the first reign of all.
    pub(super) seed: Config,
    pub(super) inbox: Receiver<Message>,
    pub(super) sender: Sender<Message>,
    pub(super) tell_durable: watch::Sender<Seq>,
    pub(super) tell_standing: watch::Sender<Standing>,
    wall: Wall,
    pub(super) snapshots: Arc<dyn Snapshots>,
    /// The thread that writes a snapshot, while there is one.
    pub(super) saving: Option<Saving>,
    /// To be written once the settings of the file are durable.
    pub(super) applied: Option<SettingsFile>,
    pub(super) feed: Feed,
    pub(super) keys: KeysFeed,
    pub(super) followers: Followers,
    /// What the journal could forget, if nobody had still to read it.
    pub(super) untruncated: Option<Seq>,
    pub(super) tail: TailEnd,
    pub(super) telemetry: Option<telemetry::Feed>,
    pub(super) space: SpaceProbe,
    /// On the wall clock.
    pub(super) started_at: Timestamp,
    pub(super) meters: Meters,
}

impl Loop {
    pub(crate) fn new(parts: Parts) -> Result<Loop, RecoverError> {
        let Parts { place, engine, config, settings, snapshot_every, inbox, sender, .. } = parts;
        let (journal, seat, room, head, snapshots) = match place {
            Place::Alone(journal) => {
                let (head, snapshots) = (journal.head(), journal.snapshots());
                (Some(journal), None, None, head, snapshots)
            }
            Place::Among { seat, room, head, snapshots } => {
                (None, Some(seat), Some(room), head, snapshots)
            }
        };
        let snapshots: Arc<dyn Snapshots> = snapshots.into();
        let saved = snapshots.head()?.map_or(Seq(0), |head| head.seq);
        let reading = clock::read();
        // Settings that were changed while the scheduler ran hold until the file changes; those of
        // several schedulers are none of one machine's files.
        let is_new = engine.last_seq() == Seq(0) || settings.differs_from(&config);
        let changed = journal.is_some() && is_new;
        let mut new = Loop {
            host: Host::new(engine, head, saved, SnapshotRule::every(snapshot_every)),
            journal: None,
            lease: Lease::forever(),
            seat,
            room,
            retiring: None,
            identity: parts.identity,
            seed: config.clone(),
            inbox,
            sender,
            tell_durable: parts.durable,
            tell_standing: parts.standing,
            wall: parts.wall,
            snapshots,
            saving: None,
            applied: changed.then(|| settings.holding(config.clone())),
            feed: parts.feed,
            keys: parts.keys,
            followers: parts.followers,
            untruncated: None,
            tail: parts.tail,
            telemetry: parts.telemetry,
            space: parts.space,
            started_at: reading.wall,
            meters: Meters::default(),
        };
        new.learn_identity();
        if let Some(journal) = journal {
            let epoch = journal.epoch();
            new.lease = journal.lease();
            new.start_journal(journal);
            new.host.reign(reading, epoch, changed.then_some(config), &mut new.meters);
            new.hand_over();
        }
        Ok(new)
    }

    pub(super) fn start_journal(&mut self, journal: Box<dyn Journal>) {
        let (sender, epoch) = (self.sender.clone(), journal.epoch());
        // The loop outlives the thread, so its inbox is there.
        let tell = move |outcome| drop(sender.send(Message::Journal(epoch, outcome)));
        let started = JournalThread::start(journal, BATCHES_IN_FLIGHT_MAX + 2, tell);
        self.journal = Some(started.unwrap_or_else(|error| fatal::end(Fatal::Thread(error))));
    }

    pub(crate) fn run(mut self) {
        let stopped = loop {
            let first = self.receive();
            let begun = Instant::now();
            self.host.handle_time(clock::read(), &mut self.meters);
            self.wall.tell(self.host.state().wall_ahead());
            if let Some(stopped) = self.round(first) {
                break stopped;
            }
            self.meters.round(begun.elapsed());
        };
        self.finish(stopped);
    }

    /// The next message; none if it is time for something else.
    fn receive(&mut self) -> Option<Message> {
        if let Some(message) = self.next_waiting() {
            return Some(message);
        }
        let result = match self.sleep_for() {
            Some(pause) => self.inbox.recv_timeout(pause),
            None => self.inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match result {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("the loop holds a sender of its own inbox")
            }
        }
    }

    fn next_waiting(&mut self) -> Option<Message> {
        let deferred = if self.retiring.is_none() { self.host.poll_deferred() } else { None };
        deferred.or_else(|| self.inbox.try_recv().ok())
    }

    fn sleep_for(&self) -> Option<Duration> {
        let deadline = self.host.next_deadline();
        let until = deadline.map(|at| clock::until(self.host.time_at(clock::read()), at));
        // A reign that others can end is over without a word.
        let look = (!self.lease.is_forever()).then(|| match self.is_sure() {
            true => LEASE_INTERVAL,
            false => DOUBT_INTERVAL,
        });
        until.into_iter().chain(look).min()
    }

    /// Handles what waits. Gives back who wants the loop to end.
    fn round(&mut self, first: Option<Message>) -> Option<oneshot::Sender<Head>> {
        let mut handled = 0;
        let mut next = first;
        while let Some(message) = next.take() {
            match message {
                Message::Stop(reply) => return Some(reply),
                message => handled += self.take(message),
            }
            if handled >= ROUND_COMMANDS_MAX {
                break;
            }
            next = self.next_waiting();
        }
        self.watch_lease();
        self.retire();
        if self.retiring.is_none() {
            self.tick();
        }
        self.take_snapshot();
        self.hand_over();
        None
    }

    fn tick(&mut self) {
        if self.host.must_probe() {
            let has_space = self.space.has_space();
            if has_space {
                tracing::info!("the disk has space again; work is taken");
            }
            self.host.handle_probe(has_space, &mut self.meters);
        }
        self.host.handle_tick(|watcher| watcher.is_closed(), &mut self.meters);
    }

    /// Handles a message and says how many commands it was.
    fn take(&mut self, message: Message) -> usize {
        match message {
            Message::Journal(epoch, outcome) => {
                // One that is finished with may still have had something to say.
                if self.journal.is_some() && epoch == self.host.epoch() {
                    self.journal_said(outcome);
                }
                1
            }
            Message::Cluster(heard) => {
                self.hear(heard);
                1
            }
            Message::SessionClosed(session) => {
                self.host.handle_session_closed(session);
                1
            }
            Message::PieceWritten => {
                self.host.handle_piece_written();
                1
            }
            Message::SnapshotSaved(saved) => {
                self.snapshot_saved(saved);
                1
            }
            Message::Snapshot(reply) => {
                self.host.handle_snapshot_wish(reply);
                1
            }
            Message::Retire(ready) => {
                self.begin_to_retire(ready);
                1
            }
            Message::GoOn => {
                self.retiring = None;
                1
            }
            message if self.host.must_wait() || self.retiring.is_some() => {
                self.host.defer(message);
                1
            }
            Message::Commands { commands, by, reply, room } => {
                self.host.handle_commands(commands, by.as_ref(), reply, &mut self.meters);
                room.num_permits()
            }
            Message::Session { session, input, room } => {
                self.host.handle_session(session, *input, &mut self.meters);
                room.num_permits()
            }
            Message::Ask { question, room } => {
                let tell = (question.0)(&self.view());
                self.host.handle_look(tell);
                room.num_permits()
            }
            Message::Wait { wish, room } => {
                let Wait { ids, progress, watcher, reply } = wish;
                self.host.handle_wait(ids, progress, &watcher, reply);
                room.num_permits()
            }
            Message::Stop(_) => unreachable!("a stop ends the round"),
        }
    }

    fn view(&self) -> View<'_> {
        View {
            state: self.host.state(),
            host: &self.host,
            meters: &self.meters,
            durable: self.host.durable(),
            epoch: self.host.epoch(),
            now: self.host.now(),
            started_at: self.started_at,
            disk_full: self.host.mode().is_full(),
        }
    }
}
