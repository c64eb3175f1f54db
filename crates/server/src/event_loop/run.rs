//! The loop itself: one thread that owns the engine.
//!
//! It handles everything that waits, hands the events to the journal's thread, and goes on
//! gathering while the disk works. What has become durable is released: answers, and one message to
//! each worker.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use bellwether_core::model::{Config, Epoch, Seq, Timestamp};
use bellwether_core::{Answer, Command, Engine, Handled, State};
use bellwether_journal::{Head, Journal, JournalThread, Snapshot};
use tokio::sync::{oneshot, watch};

use super::message::{Message, Settled, Taken, TakenJobs, Wait, WaitStarted};
use super::outbox::Outbox;
use super::recovery::RecoverError;
use super::reply::{Replies, Reply};
use super::snapshots::Schedule;
use super::unavailable::Unavailable;
use super::view::View;
use super::waiters::Waiters;
use crate::event_loop::clock;
use crate::event_loop::fatal::{self, Fatal};
use crate::event_loop::space::SpaceProbe;
use crate::projections::history::{Followers, TailEnd};
use crate::projections::registry::Feed;
use crate::projections::telemetry;
use crate::sinks::metrics::Meters;

/// Commands handled before what came of them is handed to the journal.
const ROUND_COMMANDS_MAX: usize = 8_192;
/// Batches at the journal's thread: one at the disk, one that is ready when the disk is.
pub(super) const BATCHES_IN_FLIGHT_MAX: usize = 2;
/// Events that may wait for the journal before commands must.
const EVENTS_WAITING_MAX: u64 = 200_000;
/// How often a full disk is looked at.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// How often waiters that have gone away are swept out.
const SWEEP_INTERVAL: u64 = 60_000_000;

/// What a loop is made of.
pub(crate) struct Parts {
    pub(crate) journal: Box<dyn Journal>,
    pub(crate) engine: Engine,
    pub(crate) config: Config,
    pub(crate) snapshot_every: u64,
    pub(crate) inbox: Receiver<Message>,
    pub(crate) sender: Sender<Message>,
    pub(crate) durable: watch::Sender<Seq>,
    pub(crate) feed: Feed,
    pub(crate) followers: Followers,
    pub(crate) tail: TailEnd,
    /// None if nobody looks on.
    pub(crate) telemetry: Option<telemetry::Feed>,
    pub(crate) space: SpaceProbe,
}

pub(crate) struct Loop {
    pub(super) engine: Engine,
    /// None only while the state is rebuilt.
    pub(super) journal: Option<JournalThread>,
    pub(super) epoch: Epoch,
    pub(super) inbox: Receiver<Message>,
    pub(super) sender: Sender<Message>,
    /// Commands that came while too much waited for the journal.
    pub(super) deferred: VecDeque<Message>,
    /// The last positions of the batches at the journal's thread.
    pub(super) in_flight: VecDeque<Seq>,
    pub(super) sent: Seq,
    pub(super) durable: Head,
    pub(super) tell_durable: watch::Sender<Seq>,
    pub(super) replies: Replies,
    pub(super) outbox: Outbox,
    pub(super) waiters: Waiters,
    pub(super) schedule: Schedule,
    /// Those who want the state as soon as all of it is durable.
    pub(super) snapshots_wanted: Vec<oneshot::Sender<Snapshot>>,
    pub(super) feed: Feed,
    pub(super) followers: Followers,
    pub(super) tail: TailEnd,
    pub(super) telemetry: Option<telemetry::Feed>,
    pub(super) space: SpaceProbe,
    pub(super) disk_full: bool,
    pub(super) now: Timestamp,
    pub(super) started_at: Timestamp,
    pub(super) swept_at: Timestamp,
    pub(super) config: Config,
    pub(super) meters: Meters,
}

impl Loop {
    pub(crate) fn new(parts: Parts) -> Result<Loop, RecoverError> {
        let Parts { journal, engine, config, snapshot_every, inbox, sender, .. } = parts;
        let schedule = Schedule::new(snapshot_every, journal.snapshots())?;
        let (epoch, durable) = (journal.epoch(), journal.head());
        let now = clock::now();
        let mut new = Loop {
            sent: durable.seq,
            engine,
            journal: None,
            epoch,
            inbox,
            sender,
            deferred: VecDeque::new(),
            in_flight: VecDeque::new(),
            durable,
            tell_durable: parts.durable,
            replies: Replies::default(),
            outbox: Outbox::default(),
            waiters: Waiters::default(),
            schedule,
            snapshots_wanted: Vec::new(),
            feed: parts.feed,
            followers: parts.followers,
            tail: parts.tail,
            telemetry: parts.telemetry,
            space: parts.space,
            disk_full: false,
            now,
            started_at: now,
            swept_at: now,
            config,
            meters: Meters::default(),
        };
        new.start_journal(journal);
        new.begin();
        Ok(new)
    }

    pub(super) fn start_journal(&mut self, journal: Box<dyn Journal>) {
        let sender = self.sender.clone();
        // The loop outlives the thread, so its inbox is there.
        let tell = move |outcome| drop(sender.send(Message::Journal(outcome)));
        let started = JournalThread::start(journal, BATCHES_IN_FLIGHT_MAX + 2, tell);
        self.journal = Some(started.unwrap_or_else(|error| fatal::end(Fatal::Thread(error))));
        self.sent = self.engine.last_seq();
        self.in_flight.clear();
    }

    /// The first commands of a reign: the configured settings hold, and time has passed.
    pub(super) fn begin(&mut self) {
        self.now = clock::now();
        if *self.engine.state().config() != self.config {
            let configure = Command::Configure {
                config: Box::new(self.config.clone()),
                expected_version: None,
            };
            let handled = self.handle_command(configure);
            handled.result.expect("the configuration was validated when it was read");
        }
        self.handle_command(Command::Tick);
        self.hand_over();
    }

    pub(crate) fn run(mut self) {
        let stopped = loop {
            let first = self.receive();
            self.now = clock::now();
            if let Some(stopped) = self.round(first) {
                break stopped;
            }
        };
        self.finish(stopped);
    }

    /// The next message; none if it is time for something else.
    fn receive(&mut self) -> Option<Message> {
        if !self.must_wait()
            && let Some(message) = self.deferred.pop_front()
        {
            return Some(message);
        }
        if let Ok(message) = self.inbox.try_recv() {
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

    fn sleep_for(&self) -> Option<Duration> {
        if self.disk_full {
            return Some(PROBE_INTERVAL);
        }
        // While the journal is behind, a tick would only add to the heap.
        if self.must_wait() {
            return None;
        }
        self.engine.next_deadline().map(|at| clock::until(clock::now(), at))
    }

    /// Handles what waits. Gives back who wants the loop to end.
    fn round(&mut self, first: Option<Message>) -> Option<oneshot::Sender<()>> {
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
        self.tick();
        self.save_snapshot();
        self.hand_over();
        None
    }

    fn next_waiting(&mut self) -> Option<Message> {
        if !self.must_wait()
            && let Some(message) = self.deferred.pop_front()
        {
            return Some(message);
        }
        self.inbox.try_recv().ok()
    }

    fn tick(&mut self) {
        if self.disk_full {
            if self.space.has_space() {
                tracing::info!("the disk has space again; work is taken");
                self.disk_full = false;
                self.begin();
            }
            return;
        }
        if !self.must_wait() && self.engine.next_deadline().is_some_and(|at| at <= self.now) {
            self.handle_command(Command::Tick);
        }
        if self.now.since(self.swept_at).0 > SWEEP_INTERVAL {
            self.swept_at = self.now;
            self.waiters.sweep();
        }
    }

    /// Commands wait while too many events do, and while all must be durable for a snapshot.
    fn must_wait(&self) -> bool {
        let waiting = self.engine.last_seq().0 - self.durable.seq.0;
        let snapshot = self.schedule.is_due(self.durable.seq) || !self.snapshots_wanted.is_empty();
        waiting > EVENTS_WAITING_MAX || (waiting > 0 && snapshot)
    }

    /// Handles a message and says how many commands it was.
    fn take(&mut self, message: Message) -> usize {
        match message {
            Message::Journal(outcome) => {
                self.journal_said(outcome);
                1
            }
            Message::SessionClosed(session) => {
                self.reply(self.last_seq(), Reply::Close(session));
                1
            }
            Message::SnapshotSaved(saved) => {
                self.snapshot_saved(saved);
                1
            }
            Message::Snapshot(reply) => {
                self.snapshots_wanted.push(reply);
                1
            }
            message if self.must_wait() => {
                self.deferred.push_back(message);
                1
            }
            Message::Submit { submissions, reply, room } => {
                if self.disk_full {
                    drop(reply.send(Err(Unavailable::DiskFull)));
                    return 1;
                }
                let taken: Vec<Taken> =
                    submissions.into_iter().map(|submission| self.submit(submission)).collect();
                self.reply(self.last_seq(), Reply::Taken(reply, taken));
                room.num_permits()
            }
            Message::Commands { commands, reply, room } => {
                if self.disk_full {
                    drop(reply.send(Err(Unavailable::DiskFull)));
                    return 1;
                }
                let settled = commands.into_iter().map(|command| {
                    let Handled { seq, result } = self.handle_command(command);
                    Settled { seq, result: result.map(drop) }
                });
                let settled = settled.collect();
                self.reply(self.last_seq(), Reply::Settled(reply, settled));
                room.num_permits()
            }
            Message::Session { session, input, room } => {
                if self.disk_full {
                    self.refuse_session(session, *input);
                    return 1;
                }
                self.session(session, *input);
                room.num_permits()
            }
            Message::Ask { question, room } => {
                let tell = (question.0)(&self.view());
                self.reply(self.last_seq(), Reply::Seen(tell));
                room.num_permits()
            }
            Message::Wait { wish, room } => {
                self.wait(wish);
                room.num_permits()
            }
            Message::Stop(_) => unreachable!("a stop ends the round"),
        }
    }

    fn submit(&mut self, submission: bellwether_core::model::Submission) -> Taken {
        let Handled { seq, result } = self.handle_command(Command::Submit(submission));
        let result = result.map(|answer| match answer {
            Answer::Submitted { jobs, known, throttle } => {
                let id = |no| self.state().job(no).map(|job| job.spec.id.clone());
                let known = known.then(|| jobs.iter().filter_map(|no| id(*no)).collect());
                TakenJobs { jobs, known, throttle }
            }
            Answer::Registered { .. } | Answer::AlreadyCompleted | Answer::Done => {
                unreachable!("a submission is answered with its jobs")
            }
        });
        Taken { seq, result }
    }

    fn wait(&mut self, wish: Wait) {
        let Wait { ids, progress, told, reply } = wish;
        let mut not_waited_for = Vec::new();
        for id in ids {
            let state = self.engine.state();
            let live = state.job_no(id.as_str()).filter(|no| {
                state
                    .job(*no)
                    .is_some_and(|job| !job.state.has_ended() || job.last > self.durable.seq)
            });
            match live {
                Some(no) => self.waiters.add(no, &told, progress),
                None => not_waited_for.push(id),
            }
        }
        let started = WaitStarted { seq: self.last_seq(), not_waited_for };
        self.reply(self.last_seq(), Reply::Waiting(reply, started));
    }

    pub(super) fn handle_command(&mut self, command: Command) -> Handled {
        let begun = self.meters.command();
        let handled = self.engine.handle(self.now, command);
        self.meters.handled(begun, handled.result.is_err());
        handled
    }

    pub(super) fn state(&self) -> &State {
        self.engine.state()
    }

    pub(super) fn last_seq(&self) -> Seq {
        self.engine.last_seq()
    }

    /// Answers at once if all that it rests on is durable already.
    pub(super) fn reply(&mut self, seq: Seq, reply: Reply) {
        self.replies.push(seq, reply);
        if seq <= self.durable.seq {
            self.replies.release(self.durable.seq, &mut self.outbox);
        }
    }

    fn view(&self) -> View<'_> {
        View {
            state: self.engine.state(),
            outbox: &self.outbox,
            meters: &self.meters,
            durable: self.durable,
            epoch: self.epoch,
            now: self.now,
            started_at: self.started_at,
            disk_full: self.disk_full,
        }
    }
}
