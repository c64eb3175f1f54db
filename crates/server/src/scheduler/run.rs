//! The loop itself: one thread that owns the engine.
//!
//! It handles everything that waits, hands the events to the journal's thread, and goes on
//! gathering while the disk works. What has become durable is released: answers, and one message to
//! each worker.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Duration;

use bellwether_core::model::{Config, Epoch, Seq, Timestamp};
use bellwether_core::{Answer, Command, Effect, Engine, Handled, State};
use bellwether_journal::thread::{Durable, NotTaken, Outcome};
use bellwether_journal::{AppendError, Head, Journal, JournalThread};
use tokio::sync::{oneshot, watch};

use super::message::{Message, Settled, Taken, TakenJobs, Wait, WaitStarted};
use super::outbox::{End, Outbox};
use super::recovery::{RecoverError, recover};
use super::reply::{Replies, Reply};
use super::snapshots::Schedule;
use super::unavailable::Unavailable;
use super::view::View;
use super::waiters::Waiters;
use crate::clock;
use crate::fatal::{self, Fatal};
use crate::feed::Feed;
use crate::metrics::Metrics;
use crate::space::SpaceProbe;

/// Commands handled before what came of them is handed to the journal.
const ROUND_COMMANDS_MAX: usize = 8_192;
/// Batches at the journal's thread: one at the disk, one that is ready when the disk is.
const BATCHES_IN_FLIGHT_MAX: usize = 2;
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
    pub(crate) space: SpaceProbe,
    pub(crate) metrics: Arc<Metrics>,
}

pub(crate) struct Loop {
    engine: Engine,
    /// None only while the state is rebuilt.
    journal: Option<JournalThread>,
    epoch: Epoch,
    inbox: Receiver<Message>,
    sender: Sender<Message>,
    /// Commands that came while too much waited for the journal.
    deferred: VecDeque<Message>,
    /// The last positions of the batches at the journal's thread.
    in_flight: VecDeque<Seq>,
    sent: Seq,
    durable: Head,
    tell_durable: watch::Sender<Seq>,
    replies: Replies,
    pub(super) outbox: Outbox,
    waiters: Waiters,
    schedule: Schedule,
    feed: Feed,
    space: SpaceProbe,
    disk_full: bool,
    now: Timestamp,
    started_at: Timestamp,
    swept_at: Timestamp,
    config: Config,
    metrics: Arc<Metrics>,
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
            feed: parts.feed,
            space: parts.space,
            disk_full: false,
            now,
            started_at: now,
            swept_at: now,
            config,
            metrics: parts.metrics,
        };
        new.start_journal(journal);
        new.begin();
        Ok(new)
    }

    fn start_journal(&mut self, journal: Box<dyn Journal>) {
        let sender = self.sender.clone();
        // The loop outlives the thread, so its inbox is there.
        let tell = move |outcome| drop(sender.send(Message::Journal(outcome)));
        let started = JournalThread::start(journal, BATCHES_IN_FLIGHT_MAX + 2, tell);
        self.journal = Some(started.unwrap_or_else(|error| fatal::end(Fatal::Thread(error))));
        self.sent = self.engine.last_seq();
        self.in_flight.clear();
    }

    /// The first commands of a reign: the configured settings hold, and time has passed.
    fn begin(&mut self) {
        self.now = clock::now();
        if *self.engine.state().config() != self.config {
            let configure = Command::Configure(Box::new(self.config.clone()));
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
        match self.inbox.try_recv() {
            Ok(message) => Some(message),
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
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
        waiting > EVENTS_WAITING_MAX || (waiting > 0 && self.schedule.is_due(self.durable.seq))
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
        self.metrics.commands.inc();
        self.engine.handle(self.now, command)
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
            durable: self.durable,
            epoch: self.epoch,
            now: self.now,
            started_at: self.started_at,
            disk_full: self.disk_full,
        }
    }

    /// Gives the journal what has gathered, if it can use more.
    fn hand_over(&mut self) {
        self.carry_out_effects();
        if self.in_flight.len() >= BATCHES_IN_FLIGHT_MAX || self.engine.last_seq() == self.sent {
            return;
        }
        let Some(journal) = &self.journal else { return };
        let batch = self.engine.take_batch();
        self.metrics.batch(batch.len());
        match journal.append(batch) {
            Ok(()) => {
                self.sent = self.engine.last_seq();
                self.in_flight.push_back(self.sent);
            }
            // It has failed, and its word on why is in the inbox.
            Err(NotTaken::Stopped) => {}
            Err(NotTaken::Busy(_)) => unreachable!("fewer batches are in flight than may wait"),
        }
    }

    fn journal_said(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Durable(durable) => self.release(durable),
            Outcome::NotTruncated(error) => {
                tracing::warn!(%error, "the journal keeps more than it needs to");
            }
            Outcome::Failed(error) => self.append_failed(error),
        }
    }

    fn release(&mut self, Durable { head, entries, took }: Durable) {
        self.metrics.synced(took);
        self.durable = head;
        while self.in_flight.front().is_some_and(|last| *last <= head.seq) {
            self.in_flight.pop_front();
        }
        self.waiters.note(self.engine.state(), &entries);
        self.engine.durable(head.seq);
        self.replies.release(head.seq, &mut self.outbox);
        self.carry_out_effects();
        // Nobody may be watching the position just now.
        self.tell_durable.send_replace(head.seq);
        self.feed.push(head, entries);
    }

    fn carry_out_effects(&mut self) {
        for effect in self.engine.take_effects() {
            if let Some(Effect::Ended { job }) = self.outbox.add(self.engine.state(), effect) {
                self.waiters.ended(self.engine.state(), job);
            }
        }
        self.outbox.send();
    }

    /// What was not durable has not happened: the state is built again from what is.
    fn append_failed(&mut self, error: AppendError) {
        let why = match &error {
            AppendError::Full => Unavailable::DiskFull,
            AppendError::WrongPosition { .. } => Unavailable::Rebuilt,
            AppendError::Fenced { .. } | AppendError::Sync(_) | AppendError::Write(_) => {
                fatal::end(Fatal::Append(error))
            }
        };
        tracing::error!(%error, "the state is rebuilt from the journal");
        self.replies.fail(why, &mut self.outbox);
        self.outbox.end_all(&End::Unavailable(why));
        self.waiters.clear();
        let thread = self.journal.take().expect("only this takes it, and puts one back");
        let journal = thread.stop();
        self.durable = journal.head();
        self.engine =
            recover(journal.as_ref()).unwrap_or_else(|error| fatal::end(Fatal::Recover(error)));
        self.start_journal(journal);
        self.disk_full = why == Unavailable::DiskFull;
        if !self.disk_full {
            self.begin();
        }
    }

    fn refuse_session(
        &mut self,
        session: super::message::SessionKey,
        input: super::message::SessionInput,
    ) {
        let why = End::Unavailable(Unavailable::DiskFull);
        match input.register {
            // The worker goes on with what it has, and tries again later.
            Some(registration) => drop(registration.outgoing.try_send(Err(why))),
            None => self.outbox.end(session, why),
        }
    }

    fn save_snapshot(&mut self) {
        let quiet = self.engine.last_seq() == self.durable.seq;
        if !quiet || self.disk_full || !self.schedule.is_due(self.durable.seq) {
            return;
        }
        let bytes = self.engine.snapshot();
        if let Err(error) = self.schedule.save(self.durable, bytes, &self.sender) {
            fatal::end(Fatal::Thread(error));
        }
    }

    fn snapshot_saved(&mut self, saved: super::snapshots::Saved) {
        match self.schedule.saved(saved) {
            Ok(before) => {
                let before = before.min(self.feed.position().next());
                if let Some(journal) = &self.journal
                    && journal.truncate_before(before).is_err()
                {
                    tracing::debug!("the journal has stopped; it is truncated next time");
                }
            }
            Err(error) => tracing::warn!(%error, "the snapshot was not saved; the next one may be"),
        }
    }

    /// Everything durable, then a snapshot, then goodbye.
    fn finish(mut self, stopped: oneshot::Sender<()>) {
        while !self.disk_full && self.engine.last_seq() != self.durable.seq {
            self.hand_over();
            if let Ok(Message::Journal(outcome)) = self.inbox.recv() {
                self.journal_said(outcome);
            }
        }
        self.replies.fail(Unavailable::ShuttingDown, &mut self.outbox);
        self.outbox.say_reconnect();
        self.waiters.clear();
        if let Err(error) = self.schedule.save_now(self.durable, self.engine.snapshot()) {
            tracing::warn!(%error, "the last snapshot was not saved; the next start takes longer");
        }
        if let Some(journal) = self.journal.take() {
            drop(journal.stop());
        }
        self.feed.close();
        if stopped.send(()).is_err() {
            tracing::debug!("whoever asked for the end did not wait for it");
        }
    }
}
