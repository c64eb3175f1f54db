//! What the host gives out is appended, saved and sent; what became of it is told to the host.

use std::sync::Arc;

use bellwether_core::model::Seq;
use bellwether_host::{Mode, Reply, Unavailable};
use bellwether_journal::thread::{Durable, NotTaken, Outcome};
use bellwether_journal::{AppendError, Head, Record};
use tokio::sync::oneshot;

use super::message::{Asker, Message};
use super::recovery::recover;
use super::run::Loop;
use crate::event_loop::clock;
use crate::event_loop::fatal::{self, Fatal};

impl Loop {
    /// Gives the journal what has gathered, if it can use more, and sends what may be told.
    pub(super) fn hand_over(&mut self) {
        self.send();
        let Some(journal) = &self.journal else { return };
        let Some(batch) = self.host.poll_batch() else { return };
        self.meters.batch(batch.len());
        match journal.append(batch) {
            Ok(()) => {}
            // It has failed, and its word on why is in the inbox.
            Err(NotTaken::Stopped) => {}
            Err(NotTaken::Busy(_)) => unreachable!("fewer batches are in flight than may wait"),
        }
    }

    /// Sends what the host has released. An asker that has gone away is no error: what it asked for
    /// has happened all the same.
    pub(super) fn send(&mut self) {
        if !self.lease.is_forever() {
            // After what is answered has come: what was true then may be told.
            self.host.handle_lease(clock::read().monotonic, self.lease.ends_at());
        }
        self.host.drain_outgoing(&mut self.meters, |link, message| link.try_send(message).is_ok());
        while let Some(reply) = self.host.poll_reply() {
            match reply {
                Reply::Settled(to, settled) => give(to, settled),
                Reply::Waiting(to, started) => give(to, started),
                Reply::Snapshot(to, saved) => give(to, saved.and_then(|head| self.saved(head))),
                Reply::Seen(tell, seen) => tell(seen),
            }
        }
        while let Some((watcher, ended)) = self.host.poll_watched() {
            drop(watcher.send(ended));
        }
    }

    pub(super) fn journal_said(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Durable(durable) => self.release(durable),
            Outcome::NotTruncated(error) => {
                tracing::warn!(%error, "the journal keeps more than it needs to");
            }
            Outcome::Failed(error) => self.append_failed(error),
        }
    }

    fn release(&mut self, Durable { head, entries, took }: Durable) {
        self.meters.synced(took);
        let (prior, chain) = (self.host.durable().chain, head.chain);
        let record = Arc::new(Record { epoch: self.host.epoch(), prior, chain, entries });
        // Before its position is told: who hears of that wants to read it.
        let forgotten = self.tail.push(&record);
        // Before anybody is answered: who asks next must find what this answer told. Nobody may be
        // watching the position just now.
        self.tell_durable.send_replace(head.seq);
        self.host.handle_durable(head, &record.entries, &mut self.meters);
        self.send();
        self.project(record, forgotten);
        if let Some(applied) = self.applied.take()
            && let Err(error) = applied.write()
        {
            tracing::warn!(%error, "the next start applies the settings of the file once more");
        }
    }

    /// Everybody who makes something of the journal is given what is new in it.
    pub(super) fn project(&mut self, record: Arc<Record>, forgotten: Vec<Arc<Record>>) {
        self.learn_identity_from(&record);
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.push(&record);
        }
        self.keys.push(&record);
        self.feed.push(record, forgotten);
        if let Some(before) = self.untruncated
            && self.feed.position().next() >= before
        {
            self.truncate_before(before);
        }
    }

    /// What was not durable has not happened: the state is built again from what is. After a failed
    /// sync nothing that is there can be trusted, and what another has taken of a journal on disk is
    /// not ours to read, so then the process ends. One among several follows the other instead.
    fn append_failed(&mut self, error: AppendError) {
        self.host.handle_failure((&error).into());
        self.send();
        if self.host.mode() == Mode::Deposed && self.seat.is_some() {
            return self.step_down(&error.to_string());
        }
        if self.host.mode() == Mode::Deposed || error.is_fatal() {
            fatal::end(Fatal::Append(error));
        }
        tracing::error!(%error, "the state is rebuilt from the journal");
        let thread = self.journal.take().expect("only this takes it, and puts one back");
        let journal = thread.stop();
        let (engine, _) = recover(journal.as_ref(), None)
            .unwrap_or_else(|error| fatal::end(Fatal::Recover(error)));
        self.host.handle_rebuilt(engine, journal.head(), &mut self.meters);
        self.start_journal(journal);
        self.hand_over();
    }

    /// Lets the journal forget what a snapshot stands for, as far as nobody wants to read it. The rest
    /// follows when they have: the next snapshot may be long in coming.
    pub(super) fn truncate_before(&mut self, wanted: Seq) {
        let followed = self.followers.wanted(self.host.durable().seq);
        let mut before = wanted.min(self.feed.position().next()).min(followed);
        if let Some(telemetry) = &self.telemetry {
            before = before.min(telemetry.position().next());
        }
        self.untruncated = (before < wanted).then_some(wanted);
        match (&self.journal, &self.seat) {
            (Some(journal), _) => {
                if journal.truncate_before(before).is_err() {
                    tracing::debug!("the journal has stopped; it is truncated next time");
                }
            }
            // One that follows keeps a log of its own.
            (None, Some(seat)) => seat.truncate_before(before),
            (None, None) => {}
        }
    }

    /// Everything durable, then a snapshot, then goodbye.
    pub(super) fn finish(mut self, stopped: oneshot::Sender<Head>) {
        while self.host.mode() == Mode::Reigning && !self.host.is_durable() {
            self.hand_over();
            if let Ok(Message::Journal(_, outcome)) = self.inbox.recv() {
                self.journal_said(outcome);
            }
        }
        // What a follower knows is in the log of all.
        let is_ours = self.journal.is_some();
        self.host.handle_stop();
        self.send();
        if is_ours {
            self.save_last_snapshot();
        }
        if let Some(journal) = self.journal.take() {
            drop(journal.stop());
        }
        if let Some(seat) = &self.seat {
            seat.leave();
        }
        if let Some(telemetry) = self.telemetry {
            telemetry.close();
        }
        self.feed.close();
        self.keys.close();
        if stopped.send(self.host.durable()).is_err() {
            tracing::debug!("whoever asked for the end did not wait for it");
        }
    }
}

fn give<T>(to: Asker<T>, answer: Result<T, Unavailable>) {
    drop(to.send(answer));
}
