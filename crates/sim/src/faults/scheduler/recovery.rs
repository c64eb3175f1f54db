//! Deaths of the scheduler, and how a new process rebuilds the engine from what is on disk.

use std::collections::VecDeque;
use std::sync::Arc;

use bellwether_core::Engine;
use bellwether_core::place::predictor;
use bellwether_journal::state;

use super::{Process, Scheduler};
use crate::faults::court::Seen;
use crate::faults::defect::Defect;
use crate::faults::happening::Happening;
use crate::faults::predictor::Flaky;
use crate::faults::stage::Stage;

/// Where a scheduler may die.
#[derive(Debug, Clone, Copy)]
pub(super) enum Moment {
    Handled,
    BatchTaken,
    Appended,
    Durable,
    Releasing,
    Recovering,
}

impl Moment {
    pub(super) fn fault(self) -> &'static str {
        match self {
            Moment::Handled => "crash_after_handle",
            Moment::BatchTaken => "crash_after_take_batch",
            Moment::Appended => "crash_after_append",
            Moment::Durable => "crash_after_durable",
            Moment::Releasing => "crash_while_releasing",
            Moment::Recovering => "crash_while_recovering",
        }
    }
}

impl Scheduler {
    pub(super) fn keep_snapshot(&mut self, stage: &mut Stage) {
        let Some(process) = &mut self.process else { return };
        let last = process.engine.last_seq();
        if last.0 < process.snapshot_at.0 + self.snapshot_every {
            return;
        }
        // A snapshot of what is not durable would bring back what never happened.
        let early = self.defect == Some(Defect::SnapshotBeforeDurable);
        if last != process.durable && !early {
            return;
        }
        process.snapshot_at = last;
        let bytes = state::encode(process.engine.state());
        stage.see(Seen::Snapshot { bytes: &bytes, seq: last });
        if let Err(error) = self.disk.keep_snapshot(last, bytes) {
            stage.see(Seen::Unreadable { why: &error });
        }
    }

    pub(super) fn crashes(&mut self, stage: &mut Stage, moment: Moment) -> bool {
        if !stage.rare(stage.weather.crash) {
            return false;
        }
        stage.count(moment.fault());
        stage.note(|| format!("the scheduler dies: {}", moment.fault()));
        self.die(stage);
        true
    }

    /// The process is gone. What it was writing may have been written, or half of it.
    pub(super) fn die(&mut self, stage: &mut Stage) {
        let Some(process) = self.process.take() else { return };
        self.incarnation += 1;
        if let Some(batch) = process.appending {
            match stage.random.below(3) {
                0 => self.write(stage, &batch),
                1 => {
                    let draw = stage.random.next();
                    self.disk.tear(&batch, draw);
                }
                _ => {}
            }
        }
        let delay = stage.random.skewed(10_000, 8_000_000);
        stage.after(delay, Happening::Boots);
    }

    /// A new process builds its engine from the disk. True if it is up.
    pub(crate) fn boot(&mut self, stage: &mut Stage) -> bool {
        if self.process.is_some() {
            return false;
        }
        stage.count("scheduler_started");
        let one = self.recover();
        let mut engine = match one {
            Ok(engine) => engine,
            Err(error) => {
                stage.see(Seen::Unreadable { why: &error });
                return false;
            }
        };
        stage.note(|| format!("a scheduler recovers at {}", engine.last_seq()));
        stage.see(Seen::Recovered { engine: &engine });
        if stage.rare(stage.weather.crash) {
            stage.count(Moment::Recovering.fault());
            stage.after(1_000_000, Happening::Boots);
            return false;
        }
        let seed = stage.random.next();
        self.dress(&mut engine, seed);
        let twin = self.twinned.then(|| self.recover().ok()).flatten().map(|mut twin| {
            self.dress(&mut twin, seed);
            twin
        });
        let durable = engine.last_seq();
        self.process = Some(Process {
            engine,
            twin,
            answers: VecDeque::new(),
            appending: None,
            durable,
            wakes_at: None,
            connected: vec![None; stage.cut.len()],
            snapshot_at: durable,
        });
        self.set_timer(stage);
        true
    }

    pub(super) fn recover(&mut self) -> Result<Engine, String> {
        let opened = self.disk.open(self.defect)?;
        let mut engine = match &opened.snapshot {
            Some(bytes) => state::decode(bytes).map_err(|error| error.to_string())?,
            None => Engine::new(self.config.clone()),
        };
        Defect::plant(self.defect, &mut engine);
        for entry in &opened.entries {
            engine.replay(entry);
        }
        Ok(engine)
    }

    pub(super) fn dress(&self, engine: &mut Engine, seed: u64) {
        let kind = engine.state().config().predictor;
        let flaky = Flaky::new(predictor::predictor(kind), Arc::clone(&self.mood), seed);
        engine.set_predictor(Box::new(flaky));
    }
}
