//! Births and deaths: how a process builds its engine from what is on disk, is deposed, and dies.

use std::sync::Arc;

use bellwether_core::model::Seq;
use bellwether_core::place::predictor;
use bellwether_core::{Engine, Event};
use bellwether_host::{Host, Mode, restore};
use bellwether_journal::{Journal as _, MemoryJournal};

use super::edge::Sessions;
use super::journal::Appends;
use super::lease::LEASE;
use super::witness::Witness;
use super::{Desk, Process, Scheduler};
use crate::faults::court::Observation;
use crate::faults::defect::Defect;
use crate::faults::disk::Opened;
use crate::faults::due::Due;
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
    fn fault(self) -> &'static str {
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
    pub(super) fn crashes(
        &mut self,
        stage: &mut Stage,
        process: &mut Process,
        moment: Moment,
    ) -> bool {
        if !stage.rare(stage.weather.crash) {
            return false;
        }
        stage.count(moment.fault());
        stage.note(|| format!("the scheduler dies: {}", moment.fault()));
        self.die(stage, process);
        true
    }

    /// The process is gone. What it was writing may have been written, or half of it.
    pub(super) fn die(&mut self, stage: &mut Stage, process: &mut Process) {
        if let Some(batch) = process.appends.at_the_disk() {
            match stage.random.below(3) {
                0 => self.may_write(stage, process, &batch),
                1 if process.desk.reign == self.reigns => {
                    let draw = stage.random.next();
                    self.disk.tear(&batch, draw);
                }
                _ => {}
            }
        }
        // Nobody restarts one that has a successor.
        if process.desk.reign == self.reigns {
            stage.fall_deaf();
            let delay = stage.random.skewed(10_000, 8_000_000);
            stage.after(delay, Due::Boots);
        }
    }

    /// A new process takes the journal, because there is none. True if it is up.
    pub(crate) fn boot(&mut self, stage: &mut Stage) -> bool {
        if self.process.is_some() {
            return false;
        }
        stage.count("scheduler_started");
        self.take_over(stage)
    }

    pub(super) fn take_over(&mut self, stage: &mut Stage) -> bool {
        self.reigns += 1;
        let opened = self.disk.open();
        let (journal, opened) = match opened {
            Ok(opened) => opened,
            Err(why) => {
                stage.see(Observation::Unreadable { why: &why });
                return false;
            }
        };
        let seed = stage.random.next();
        let Some(mut host) = self.host(stage, &opened, &journal, seed) else { return false };
        stage.note(|| format!("a scheduler recovers at {}", host.engine().last_seq()));
        stage.see(Observation::Recovered { engine: host.engine(), reign: self.reigns });
        self.disk.keys.restart(host.state());
        // It recovers far less often than it does anything else.
        if stage.rare(stage.weather.crash * 10) {
            stage.count(Moment::Recovering.fault());
            stage.after(1_000_000, Due::Boots);
            return false;
        }
        let mut twin = self.twin(&opened, seed);
        let (reign, reading) = (self.reigns, self.reading(stage));
        // The file seeds the first start alone; from then on the journal knows the settings.
        let first = host.engine().last_seq() == Seq(0);
        let settings = first.then(|| self.config.clone());
        let mut witness = Witness::new(stage, &mut twin, reign);
        host.reign(reading, journal.epoch(), settings, &mut witness);
        stage.hear_again();
        let desk = Desk { host, twin, reign, sessions: Sessions::default() };
        self.process = Some(Process {
            desk,
            journal,
            appends: Appends::default(),
            wakes_at: None,
            lease_ends: stage.now + LEASE,
            cut_off: false,
        });
        self.with(reign, |scheduler, process| scheduler.go_on(stage, process, Moment::Handled));
        self.process.is_some()
    }

    /// A host that has followed the journal to its end.
    fn host(
        &self,
        stage: &mut Stage,
        opened: &Opened,
        journal: &MemoryJournal,
        seed: u64,
    ) -> Option<Host<super::SimEdge>> {
        let engine = match self.restored(opened, seed) {
            Ok(engine) => engine,
            Err(why) => {
                stage.see(Observation::Unreadable { why: &why });
                return None;
            }
        };
        let at = opened.snapshot.as_ref().map(|snapshot| snapshot.head).unwrap_or_default();
        let mut host = Host::new(engine, at, at.seq, self.snapshots);
        Defect::plant_in_host(self.defect, &mut host);
        host.handle_entries(&opened.entries, journal.head());
        Some(host)
    }

    fn twin(&self, opened: &Opened, seed: u64) -> Option<Engine> {
        let mut twin = self.twinned.then(|| self.restored(opened, seed).ok()).flatten()?;
        opened.entries.iter().for_each(|entry| twin.replay(entry));
        Some(twin)
    }

    pub(super) fn restored(&self, opened: &Opened, seed: u64) -> Result<Engine, String> {
        let mut engine = restore(opened.snapshot.as_ref()).map_err(|error| error.to_string())?;
        Defect::plant(self.defect, &mut engine);
        let configured = opened.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::Configured { config, .. } => Some(config.predictor),
            _ => None,
        });
        let first = engine.last_seq() == Seq(0) && opened.entries.is_empty();
        let known = if first { &self.config } else { engine.state().config() };
        let kind = configured.unwrap_or(known.predictor);
        let flaky = Flaky::new(predictor::predictor(kind), Arc::clone(&self.mood), seed);
        engine.set_predictor(Box::new(flaky));
        Ok(engine)
    }

    /// A host that was deposed follows, with its own state if all of that is in the journal.
    fn follow(&mut self, stage: &mut Stage, process: &mut Process) -> bool {
        let known = process.desk.host.durable();
        let rebuilt = process.desk.host.is_ahead().then(|| {
            let mut opened = self.disk.read(&process.journal)?;
            // What follows is told when it takes over; a snapshot may be further.
            opened.entries.retain(|entry| entry.seq <= known.seq);
            let seed = stage.random.next();
            let mut engine = self.restored(&opened, seed)?;
            opened.entries.iter().for_each(|entry| engine.replay(entry));
            let saved = opened.snapshot.map(|snapshot| snapshot.head).unwrap_or_default();
            Ok((engine, if saved.seq > known.seq { saved } else { known }))
        });
        let rebuilt: Option<Result<_, String>> = rebuilt;
        match rebuilt.transpose() {
            Ok(rebuilt) => {
                stage.count(if rebuilt.is_some() { "follows_rebuilt" } else { "follows_as_it_is" });
                let reading = self.reading(stage);
                process.desk.host.follow(reading, rebuilt);
            }
            Err(why) => stage.see(Observation::Unreadable { why: &why }),
        }
        true
    }

    /// A host that was ahead of its journal is given the state that the journal makes.
    pub(crate) fn rebuild(&mut self, stage: &mut Stage, reign: u32) {
        self.with(reign, |scheduler, process| {
            match process.desk.host.mode() {
                Mode::Rebuilding { .. } => {}
                Mode::Deposed => return scheduler.follow(stage, process),
                _ => return true,
            }
            let seed = stage.random.next();
            let opened = scheduler.disk.read(&process.journal);
            let rebuilt = opened.and_then(|opened| {
                let mut engine = scheduler.restored(&opened, seed)?;
                opened.entries.iter().for_each(|entry| engine.replay(entry));
                Ok((engine, scheduler.twin(&opened, seed)))
            });
            let engine = match rebuilt {
                Ok((engine, twin)) => {
                    process.desk.twin = twin;
                    engine
                }
                Err(why) => {
                    stage.see(Observation::Unreadable { why: &why });
                    return true;
                }
            };
            stage.see(Observation::Recovered { engine: &engine, reign });
            scheduler.begin_round(stage, process);
            let head = process.journal.head();
            let mut witness = Witness::new(stage, &mut process.desk.twin, reign);
            process.desk.host.handle_rebuilt(engine, head, &mut witness);
            scheduler.go_on(stage, process, Moment::Handled)
        });
    }
}
