//! The journal's side of a process: batches on their way to the disk, and what becomes of them.

use std::collections::VecDeque;
use std::convert::Infallible;

use bellwether_core::Entry;
use bellwether_host::{Failure, SnapshotWork};
use bellwether_journal::{Journal as _, Snapshot};
use bytes::Bytes;

use super::life::Moment;
use super::witness::Witness;
use super::{Process, Scheduler};
use crate::faults::court::Observation;
use crate::faults::due::Due;
use crate::faults::stage::Stage;

/// What the disk was asked for and has not done yet.
#[derive(Debug, Default)]
pub(super) struct Appends {
    /// The oldest is being written.
    batches: VecDeque<Vec<Entry>>,
    /// A snapshot that is being written, and whether all of it was given to the disk.
    saving: Option<Snapshot>,
    has_all: bool,
}

impl Appends {
    /// What is being written, and may have been when the process dies.
    pub(super) fn at_the_disk(&mut self) -> Option<Vec<Entry>> {
        self.batches.pop_front()
    }

    fn write_piece(&mut self, piece: &[u8]) {
        if let Some(Snapshot { bytes, .. }) = &mut self.saving {
            *bytes = [bytes.as_ref(), piece].concat().into();
        }
    }
}

impl Scheduler {
    /// Does what a process does after each thing that it was told. False if it dies of it.
    pub(super) fn go_on(
        &mut self,
        stage: &mut Stage,
        process: &mut Process,
        moment: Moment,
    ) -> bool {
        if self.crashes(stage, process, moment) {
            return false;
        }
        while let Some(letter) = process.desk.host.poll_deferred() {
            process.desk.take(stage, letter);
        }
        self.take_snapshot(stage, process);
        self.begin_append(stage, process)
            && self.send_all(stage, process)
            && self.set_timer(stage, process)
    }

    fn send_all(&mut self, stage: &mut Stage, process: &mut Process) -> bool {
        self.renew(stage, process);
        for parcel in process.desk.outgoing(stage) {
            process.desk.send(stage, parcel);
            if self.crashes(stage, process, Moment::Releasing) {
                return false;
            }
        }
        true
    }

    /// Hands what was decided to the disk, as far as the host allows it.
    fn begin_append(&mut self, stage: &mut Stage, process: &mut Process) -> bool {
        while let Some(batch) = process.desk.host.poll_batch() {
            if let Some(twin) = &mut process.desk.twin {
                let other = twin.take_batch();
                stage.see(Observation::Twins { one: &batch, other: &other });
            }
            process.appends.batches.push_back(batch);
            if self.crashes(stage, process, Moment::BatchTaken) {
                return false;
            }
            if process.appends.batches.len() == 1 {
                self.begin_write(stage, process);
            } else {
                stage.count("batches_in_flight");
            }
        }
        true
    }

    fn begin_write(&self, stage: &mut Stage, process: &Process) {
        let latency = stage.random.skewed(150, 20_000);
        stage.after(latency, Due::AppendEnds { reign: process.desk.reign });
    }

    pub(crate) fn append_ends(&mut self, stage: &mut Stage, reign: u32) {
        self.with(reign, |scheduler, process| {
            let Some(mut batch) = process.appends.batches.pop_front() else { return true };
            scheduler.begin_round(stage, process);
            // What waits is joined: one sync for both.
            if stage.random.chance(500)
                && let Some(next) = process.appends.batches.pop_front()
            {
                stage.count("batches_joined");
                batch.extend(next);
            }
            let reigns = reign == scheduler.reigns;
            if reigns && stage.random.chance(stage.weather.append_fails) {
                return scheduler.fail_append(stage, process, &batch);
            }
            if let Err(failure) = scheduler.write(stage, process, &batch) {
                return scheduler.append_failed(stage, process, failure);
            }
            if scheduler.crashes(stage, process, Moment::Appended) {
                return false;
            }
            if !process.appends.batches.is_empty() {
                scheduler.begin_write(stage, process);
            }
            let head = process.journal.head();
            let mut witness = Witness::new(stage, &mut process.desk.twin, reign);
            process.desk.host.handle_durable(head, &batch, &mut witness);
            if let Some(twin) = &mut process.desk.twin {
                twin.durable(head.seq);
                twin.take_effects();
            }
            scheduler.go_on(stage, process, Moment::Durable)
        });
        self.show_if_quiet(stage);
    }

    /// Durable, or the reason why it is not.
    pub(super) fn write(
        &mut self,
        stage: &mut Stage,
        process: &mut Process,
        batch: &[Entry],
    ) -> Result<(), Failure> {
        self.disk.append(&mut process.journal, batch).map_err(|error| Failure::from(&error))?;
        for entry in batch {
            stage.note(|| format!("  {} {:?}", entry.seq, entry.event));
            stage.see(Observation::Committed { entry });
            self.disk.keys.see(entry);
        }
        if stage.random.chance(400) {
            let count = stage.random.between(1, 40) as usize;
            self.disk.keys.write(count);
        }
        stage.see(Observation::BatchCommitted);
        Ok(())
    }

    /// The disk fails in one of the ways that disks have. False if the process ends with it.
    fn fail_append(&mut self, stage: &mut Stage, process: &mut Process, batch: &[Entry]) -> bool {
        match stage.random.below(5) {
            0 => stage.count("append_failed"),
            1 => {
                stage.count("append_failed_after_writing");
                self.may_write(stage, process, batch);
            }
            2 => {
                stage.count("append_torn");
                let draw = stage.random.next();
                self.disk.tear(batch, draw);
            }
            3 => {
                stage.count("append_outcome_unknown");
                if stage.random.chance(500) {
                    self.may_write(stage, process, batch);
                }
                return self.append_failed(stage, process, Failure::Unknown);
            }
            _ => {
                stage.count("append_misplaced");
                return self.append_failed(stage, process, Failure::Misplaced);
            }
        }
        self.die(stage, process);
        false
    }

    /// It is written unless that is impossible, and nobody hears of it.
    pub(super) fn may_write(&mut self, stage: &mut Stage, process: &mut Process, batch: &[Entry]) {
        if self.write(stage, process, batch).is_err() {
            stage.count("append_impossible");
        }
    }

    pub(super) fn append_failed(
        &mut self,
        stage: &mut Stage,
        process: &mut Process,
        failure: Failure,
    ) -> bool {
        stage.count(match failure {
            Failure::Full => "disk_full",
            Failure::Fenced => "fenced",
            Failure::Deposed => "deposed",
            Failure::Misplaced | Failure::Unknown => "rebuilt_in_place",
        });
        stage.note(|| format!("the append fails: {failure:?}"));
        process.appends.batches.clear();
        process.desk.host.handle_failure(failure);
        let delay = stage.random.skewed(100, 200_000);
        stage.after(delay, Due::Rebuilds { reign: process.desk.reign });
        self.go_on(stage, process, Moment::Handled)
    }

    /// Does what the host wants done about a snapshot.
    fn take_snapshot(&mut self, stage: &mut Stage, process: &mut Process) {
        // One that has been deposed knows an older journal, and saves nothing.
        let reigns = process.desk.reign == self.reigns;
        while let Some(work) = process.desk.host.poll_snapshot() {
            match work {
                SnapshotWork::Begin(head) => {
                    stage.count("snapshot_begun");
                    if reigns {
                        stage.see(Observation::SnapshotBegun { seq: head.seq });
                    }
                    process.appends.saving = Some(Snapshot { head, bytes: Bytes::new() });
                    process.appends.has_all = false;
                }
                SnapshotWork::Piece(piece) => {
                    process.appends.write_piece(&piece);
                    process.desk.host.handle_piece_written();
                }
                SnapshotWork::End(last) => {
                    let appends = &mut process.appends;
                    appends.has_all = true;
                    let Ok(()) = last.write(|piece| {
                        appends.write_piece(piece);
                        Ok::<(), Infallible>(())
                    });
                    if let Some(Snapshot { head, bytes }) = &appends.saving
                        && reigns
                    {
                        stage.see(Observation::Snapshot { bytes, seq: head.seq });
                    }
                    let latency = stage.random.skewed(1_000, 500_000);
                    stage.after(latency, Due::SnapshotEnds { reign: process.desk.reign });
                }
                SnapshotWork::Abandon => {
                    stage.count("snapshot_abandoned");
                    if let Some(Snapshot { head, .. }) = process.appends.saving.take() {
                        process.desk.host.handle_snapshot_saved(head, false);
                    }
                }
            }
        }
    }

    pub(crate) fn snapshot_ends(&mut self, stage: &mut Stage, reign: u32) {
        if reign != self.reigns {
            return;
        }
        self.with(reign, |scheduler, process| {
            // The word of one that was abandoned may come while the next one is taken.
            let has_all = process.appends.has_all;
            let Some(snapshot) = process.appends.saving.take_if(|_| has_all) else { return true };
            scheduler.begin_round(stage, process);
            let is_saved = scheduler.disk.has_room();
            if is_saved && let Err(why) = scheduler.disk.save(&mut process.journal, &snapshot) {
                stage.see(Observation::Unreadable { why: &why });
            }
            let before = process.desk.host.handle_snapshot_saved(snapshot.head, is_saved);
            if let Some(before) = before
                && let Err(why) = scheduler.disk.truncate(&mut process.journal, before)
            {
                stage.see(Observation::Unreadable { why: &why });
            }
            scheduler.go_on(stage, process, Moment::Handled)
        });
    }
}
