//! From the decision to the world: the batch is appended, then its effects and answers leave.

use bellwether_core::model::Seq;
use bellwether_core::{Effect, Entry};

use super::recovery::Moment;
use super::{Scheduler, Waiting};
use crate::faults::court::Seen;
use crate::faults::defect::Defect;
use crate::faults::happening::{Asker, Happening, ToWorker};
use crate::faults::plan;
use crate::faults::stage::{Place, Stage};

/// Steps between two looks at a quiet engine's whole state.
const INSPECTED_EVERY: u64 = 200;

impl Scheduler {
    /// Hands what was decided to the disk, unless it is still busy with the batch before.
    pub(super) fn flush(&mut self, stage: &mut Stage) {
        let Some(process) = &mut self.process else { return };
        if process.appending.is_some() {
            return;
        }
        let batch = process.engine.take_batch();
        if let Some(twin) = &mut process.twin {
            let other = twin.take_batch();
            stage.see(Seen::Twins { one: &batch, other: &other });
        }
        let Some(last) = batch.last().map(|entry| entry.seq) else {
            self.answer(stage);
            return;
        };
        process.appending = Some(batch);
        if self.crashes(stage, Moment::BatchTaken) {
            return;
        }
        if self.defect == Some(Defect::ReleaseBeforeDurable) {
            self.release(stage, last);
        }
        let incarnation = self.incarnation;
        let latency = stage.random.skewed(150, 20_000);
        stage.after(latency, Happening::AppendEnds { incarnation });
    }

    pub(crate) fn append_ends(&mut self, stage: &mut Stage, incarnation: u32) {
        let Some(process) = self.process.as_mut().filter(|_| incarnation == self.incarnation)
        else {
            return;
        };
        let Some(batch) = process.appending.take() else { return };
        let Some(last) = batch.last().map(|entry| entry.seq) else { return };
        if stage.random.chance(stage.weather.append_fails) {
            self.fail_append(stage, &batch);
            return;
        }
        self.write(stage, &batch);
        if self.crashes(stage, Moment::Appended) {
            return;
        }
        self.release(stage, last);
        self.keep_snapshot(stage);
        self.flush(stage);
        self.show_if_quiet(stage);
    }

    pub(super) fn write(&mut self, stage: &mut Stage, batch: &[Entry]) {
        if let Err(error) = self.disk.append(batch) {
            stage.see(Seen::Unreadable { why: &error });
            return;
        }
        for entry in batch {
            stage.note(|| format!("  {} {:?}", entry.seq, entry.event));
            stage.see(Seen::Committed { entry });
        }
        stage.see(Seen::BatchCommitted);
    }

    /// The disk fails in one of the ways that disks have; the process ends with it.
    pub(super) fn fail_append(&mut self, stage: &mut Stage, batch: &[Entry]) {
        match stage.random.below(3) {
            0 => {
                stage.count("append_failed");
                if self.defect == Some(Defect::IgnoreAppendFailure) {
                    let last = batch.last().map_or(Seq(0), |entry| entry.seq);
                    self.release(stage, last);
                    return;
                }
            }
            1 => {
                stage.count("append_failed_after_writing");
                self.write(stage, batch);
            }
            _ => {
                stage.count("append_torn");
                let draw = stage.random.next();
                self.disk.tear(batch, draw);
            }
        }
        self.die(stage);
    }

    pub(super) fn release(&mut self, stage: &mut Stage, durable: Seq) {
        let Some(process) = &mut self.process else { return };
        process.durable = durable;
        process.engine.durable(durable);
        if let Some(twin) = &mut process.twin {
            twin.durable(durable);
            twin.take_effects();
        }
        if self.crashes(stage, Moment::Durable) {
            return;
        }
        let Some(process) = &mut self.process else { return };
        for effect in process.engine.take_effects() {
            stage.see(Seen::Released { effect: &effect });
            self.carry_out(stage, effect);
            if self.crashes(stage, Moment::Releasing) {
                return;
            }
        }
        self.answer(stage);
        self.set_timer(stage);
    }

    /// Tells those whose answers have become durable.
    pub(super) fn answer(&mut self, stage: &mut Stage) {
        let Some(process) = &mut self.process else { return };
        while process.answers.front().is_some_and(|waiting| waiting.seq <= process.durable) {
            let Some(waiting) = process.answers.pop_front() else { return };
            tell(stage, waiting);
        }
    }

    pub(super) fn carry_out(&self, stage: &mut Stage, effect: Effect) {
        stage.note(|| format!("  => {effect:?}"));
        let (number, message) = match effect {
            Effect::Offer { worker, offer } => (worker, ToWorker::Offer(Box::new(offer))),
            Effect::Grant { worker, attempt } => (worker, ToWorker::Grant(attempt)),
            Effect::Revoke { worker, attempt, reason } => {
                (worker, ToWorker::Revoke(attempt, reason))
            }
            Effect::Drain { worker } => (worker, ToWorker::Drain),
            Effect::Ended { .. } => return,
        };
        let id = stage.court.ledger().worker(number).map(|worker| worker.spec.id.clone());
        let Some(worker) = id.as_ref().and_then(plan::worker_index) else { return };
        let process = self.process.as_ref();
        if let Some(instance) = process.and_then(|process| process.connected[worker]) {
            let happening = Happening::Delivered { worker, instance, message };
            stage.send(Place::Scheduler, Place::Worker(worker), happening);
        }
    }

    /// A quiet engine is shown each time, and now and then with everything that it knows.
    fn show_if_quiet(&mut self, stage: &mut Stage) {
        let Some(engine) = self.engine().filter(|_| self.is_quiet()) else { return };
        stage.see(Seen::Quiet { engine });
        if stage.step >= self.inspected + INSPECTED_EVERY {
            self.inspect(stage);
        }
    }

    pub(crate) fn inspect(&mut self, stage: &mut Stage) {
        self.inspected = stage.step;
        if let Some(engine) = self.engine().filter(|_| self.is_quiet()) {
            stage.see(Seen::Inspected { engine, now: self.clock_max });
        }
    }
}

pub(super) fn tell(stage: &mut Stage, waiting: Waiting) {
    let Waiting { seq, letter, result } = waiting;
    stage.see(Seen::Told { command: &letter.command, seq, result: &result });
    let to = match letter.from {
        Asker::Client { .. } => Place::Clients,
        Asker::Worker { worker, .. } => Place::Worker(worker),
        Asker::Nobody => return,
    };
    let happening = Happening::Answered { to: letter.from, result: Box::new(result) };
    stage.send(Place::Scheduler, to, happening);
}
