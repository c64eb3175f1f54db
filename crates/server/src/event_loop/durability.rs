//! The journal's side of the loop: handing events over, releasing what has become durable, starting
//! over when that fails.

use std::sync::Arc;

use bellwether_core::Effect;
use bellwether_journal::thread::{Durable, NotTaken, Outcome};
use bellwether_journal::{AppendError, Record, Snapshot, state};
use tokio::sync::oneshot;

use super::message::Message;
use super::outbox::End;
use super::recovery::recover;
use super::run::{BATCHES_IN_FLIGHT_MAX, Loop};
use super::snapshots::Saved;
use super::unavailable::Unavailable;
use crate::event_loop::fatal::{self, Fatal};

impl Loop {
    /// Gives the journal what has gathered, if it can use more.
    pub(super) fn hand_over(&mut self) {
        self.carry_out_effects();
        if self.in_flight.len() >= BATCHES_IN_FLIGHT_MAX || self.engine.last_seq() == self.sent {
            return;
        }
        let Some(journal) = &self.journal else { return };
        let batch = self.engine.take_batch();
        self.meters.batch(batch.len());
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
        let (prior, chain) = (self.durable.chain, head.chain);
        let record = Arc::new(Record { epoch: self.epoch, prior, chain, entries });
        // Before its position is told: who hears of that wants to read it.
        let forgotten = self.tail.push(&record);
        self.durable = head;
        // Before anybody is answered: who asks next must find what this answer told. Nobody may be
        // watching the position just now.
        self.tell_durable.send_replace(head.seq);
        while self.in_flight.front().is_some_and(|last| *last <= head.seq) {
            self.in_flight.pop_front();
        }
        self.waiters.note(self.engine.state(), &record.entries);
        self.engine.durable(head.seq);
        self.replies.release(head.seq, &mut self.outbox);
        self.carry_out_effects();
        if let Some(telemetry) = &mut self.telemetry {
            telemetry.push(&record);
        }
        self.feed.push(record, forgotten);
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
        self.engine = recover(journal.as_ref(), None)
            .unwrap_or_else(|error| fatal::end(Fatal::Recover(error)));
        self.start_journal(journal);
        self.disk_full = why == Unavailable::DiskFull;
        if !self.disk_full {
            self.begin();
        }
    }

    pub(super) fn save_snapshot(&mut self) {
        let due = self.schedule.is_due(self.durable.seq) && !self.disk_full;
        let quiet = self.engine.last_seq() == self.durable.seq;
        if !quiet || (!due && self.snapshots_wanted.is_empty()) {
            return;
        }
        let bytes = state::encode(self.engine.state());
        for wanted in self.snapshots_wanted.drain(..) {
            let snapshot = Snapshot { head: self.durable, bytes: bytes.clone().into() };
            if wanted.send(snapshot).is_err() {
                tracing::debug!("whoever wanted a snapshot has gone");
            }
        }
        if !due {
            return;
        }
        if let Err(error) = self.schedule.save(self.durable, bytes, &self.sender) {
            fatal::end(Fatal::Thread(error));
        }
    }

    pub(super) fn snapshot_saved(&mut self, saved: Saved) {
        match self.schedule.saved(saved) {
            Ok(before) => {
                let followed = self.followers.wanted(self.durable.seq);
                let mut before = before.min(self.feed.position().next()).min(followed);
                if let Some(telemetry) = &self.telemetry {
                    before = before.min(telemetry.position().next());
                }
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
    pub(super) fn finish(mut self, stopped: oneshot::Sender<()>) {
        while !self.disk_full && self.engine.last_seq() != self.durable.seq {
            self.hand_over();
            if let Ok(Message::Journal(outcome)) = self.inbox.recv() {
                self.journal_said(outcome);
            }
        }
        self.replies.fail(Unavailable::ShuttingDown, &mut self.outbox);
        self.outbox.say_reconnect();
        self.waiters.clear();
        if let Err(error) = self.schedule.save_now(self.durable, state::encode(self.engine.state()))
        {
            tracing::warn!(%error, "the last snapshot was not saved; the next start takes longer");
        }
        if let Some(journal) = self.journal.take() {
            drop(journal.stop());
        }
        if let Some(telemetry) = self.telemetry {
            telemetry.close();
        }
        self.feed.close();
        if stopped.send(()).is_err() {
            tracing::debug!("whoever asked for the end did not wait for it");
        }
    }
}
