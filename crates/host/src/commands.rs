//! What clients send, and time itself.

use bellwether_core::model::{Actor, Config, JobId, Micros};
use bellwether_core::{Command, Handled};

use crate::defect::Defect;
use crate::edge::{Edge, Observer};
use crate::host::Host;
use crate::mode::Mode;
use crate::reply::{Pending, Reply, Settled, WaitStarted};

/// How often watchers that have gone away are swept out.
const SWEEP_INTERVAL: Micros = Micros(60_000_000);

impl<E: Edge> Host<E> {
    /// `by` wishes for all of them.
    pub fn handle_commands(
        &mut self,
        commands: Vec<Command>,
        by: Option<&Actor>,
        asker: E::Asker<Vec<Settled>>,
        observer: &mut impl Observer,
    ) {
        if let Some(why) = self.mode.refuses() {
            self.replies.give(Reply::Settled(asker, Err(why)));
            return;
        }
        let settled = commands.into_iter().map(|command| {
            let Handled { seq, result } = self.command_by(by, command, observer);
            Settled { seq, result }
        });
        let settled = settled.collect();
        self.reply(Pending::Reply(Reply::Settled(asker, Ok(settled))));
    }

    /// Somebody has looked at [`Host::state`]; what was seen may be told once it is durable. A host
    /// that takes no work can still be looked at.
    pub fn handle_look(&mut self, seen: E::Seen) {
        if let Some(why) = self.mode.is_silent() {
            self.replies.give(Reply::Seen(seen, Err(why)));
            return;
        }
        self.reply(Pending::Reply(Reply::Seen(seen, Ok(()))));
    }

    /// Tells the watcher when these jobs end; their starts and progress too, if that is wanted.
    pub fn handle_wait(
        &mut self,
        ids: Vec<JobId>,
        progress: bool,
        watcher: &E::Watcher,
        asker: E::Asker<WaitStarted>,
    ) {
        if let Some(why) = self.mode.is_silent().or(self.mode.is_following()) {
            self.replies.give(Reply::Waiting(asker, Err(why)));
            return;
        }
        let mut not_waited_for = Vec::new();
        for id in ids {
            let state = self.engine.state();
            let live = state.job_no(id.as_str()).filter(|no| {
                state
                    .job(*no)
                    .is_some_and(|job| !job.state.has_ended() || job.last > self.durable.seq)
            });
            match live {
                Some(no) => self.waiters.add(no, watcher, progress),
                None => not_waited_for.push(id),
            }
        }
        let started = WaitStarted { seq: self.engine.last_seq(), not_waited_for };
        self.reply(Pending::Reply(Reply::Waiting(asker, Ok(started))));
    }

    /// Time has passed. `is_gone` knows the watchers that nobody can be told through.
    pub fn handle_tick(
        &mut self,
        is_gone: impl Fn(&E::Watcher) -> bool,
        observer: &mut impl Observer,
    ) {
        if self.mode == Mode::Reigning && !self.must_wait() && self.is_tick_due() {
            self.command(Command::Tick, observer);
        }
        if self.now.since(self.swept_at) > SWEEP_INTERVAL {
            self.swept_at = self.now;
            self.waiters.sweep(is_gone);
        }
    }

    /// The first commands of a reign: these settings hold, if any are given, this is where the wall
    /// clock is, and time has passed.
    pub(crate) fn begin(&mut self, settings: Option<Config>, observer: &mut impl Observer) {
        self.mode = Mode::Reigning;
        if let Some(config) = settings {
            let config = Box::new(config);
            let configure = Command::Configure { config, expected_version: None };
            let handled = self.command(configure, observer);
            handled.result.expect("the configuration was validated when it was read");
        }
        self.look_at_the_wall(observer);
        self.command(Command::Tick, observer);
    }

    pub(crate) fn command(&mut self, command: Command, observer: &mut impl Observer) -> Handled {
        self.command_by(None, command, observer)
    }

    pub(crate) fn command_by(
        &mut self,
        by: Option<&Actor>,
        command: Command,
        observer: &mut impl Observer,
    ) -> Handled {
        observer.asked(self.now, by, &command, &self.engine);
        let handled = self.engine.handle_by(self.now, by, command);
        observer.handled(&handled, &self.engine);
        handled
    }

    /// Answers at once if all that it rests on is durable already.
    pub(crate) fn reply(&mut self, pending: Pending<E>) {
        let seq = self.engine.last_seq();
        self.replies.push(seq, pending);
        if seq <= self.durable.seq {
            self.replies.release(self.durable.seq, &mut self.outbox);
        } else if self.has(Defect::AcknowledgeBeforeDurable) {
            self.replies.release(seq, &mut self.outbox);
        }
    }
}
