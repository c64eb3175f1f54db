//! Who may lead: a lease that is renewed as long as the journal hears of its leader, and the one who
//! takes over when it has run out, who may have led before.

use bellwether_core::model::Micros;
use bellwether_host::Mode;
use bellwether_journal::Journal as _;

use super::life::Moment;
use super::witness::Witness;
use super::{Process, Scheduler};
use crate::faults::court::Observation;
use crate::faults::due::Due;
use crate::faults::stage::Stage;

/// How long nobody else leads after the last word of a leader.
pub(super) const LEASE: u64 = 500_000;
/// A leader takes its reign for over when its lease has run out for so long.
const PATIENCE: u64 = 2_000_000;

impl Scheduler {
    /// The reigning process is heard of no more by those who count its lease.
    pub(crate) fn cut_off(&mut self, stage: &mut Stage) {
        let Some(process) = &mut self.process else { return };
        if process.desk.host.mode() != Mode::Reigning || process.cut_off {
            return;
        }
        process.cut_off = true;
        stage.after(LEASE, Due::TakesOver { reign: process.desk.reign });
    }

    /// Another process takes the journal while this one lives and may not know. True if it is up.
    pub(crate) fn succeed(&mut self, stage: &mut Stage, reign: u32) -> bool {
        let waits = self.stopped.is_some();
        let is_due = |process: &&mut Process| process.desk.reign == reign && process.cut_off;
        let Some(process) = self.process.as_mut().filter(is_due) else { return false };
        if waits || process.desk.host.mode() != Mode::Reigning {
            process.cut_off = false;
            return false;
        }
        let before = self.deposed.take();
        self.deposed = self.process.take();
        stage.count("takeover");
        match before.filter(|process| process.desk.host.mode() == Mode::Following) {
            Some(follower) => self.crown(stage, follower),
            None => self.take_over(stage),
        }
    }

    /// One that has led before, and has followed since, leads again with the state that it has.
    fn crown(&mut self, stage: &mut Stage, mut process: Process) -> bool {
        self.reigns += 1;
        let (journal, opened) = match self.disk.open() {
            Ok(opened) => opened,
            Err(why) => {
                stage.see(Observation::Unreadable { why: &why });
                return false;
            }
        };
        let known = process.desk.host.engine().last_seq();
        let behind = opened.snapshot.as_ref().is_some_and(|snapshot| snapshot.head.seq > known);
        if behind {
            let seed = stage.random.next();
            match self.restored(&opened, seed) {
                Ok(engine) => {
                    let head = opened.snapshot.as_ref().map(|snapshot| snapshot.head);
                    process.desk.host.handle_state(engine, head.unwrap_or_default());
                }
                Err(why) => {
                    stage.see(Observation::Unreadable { why: &why });
                    return false;
                }
            }
        }
        let known = process.desk.host.engine().last_seq();
        let news: Vec<_> = opened.entries.into_iter().filter(|entry| entry.seq > known).collect();
        process.desk.host.handle_entries(&news, journal.head());
        stage.count("follower_took_over");
        stage
            .see(Observation::Recovered { engine: process.desk.host.engine(), reign: self.reigns });
        self.disk.keys.restart(process.desk.host.state());
        let (reign, reading) = (self.reigns, self.reading(stage));
        process.desk.twin = None;
        process.desk.reign = reign;
        process.wakes_at = None;
        process.cut_off = false;
        process.lease_ends = stage.now + LEASE;
        process.desk.sessions.start_over();
        let mut witness = Witness::new(stage, &mut process.desk.twin, reign);
        process.desk.host.reign(reading, journal.epoch(), None, &mut witness);
        process.journal = journal;
        stage.hear_again();
        self.process = Some(process);
        self.with(reign, |scheduler, process| scheduler.go_on(stage, process, Moment::Handled));
        self.process.is_some()
    }

    /// Whoever keeps the journal hears of the process, unless another leads.
    pub(super) fn renew(&self, stage: &Stage, process: &mut Process) {
        if process.desk.reign == self.reigns && !process.cut_off {
            process.lease_ends = stage.now + LEASE;
        }
        process.desk.host.handle_lease(Micros(stage.now), Micros(process.lease_ends));
    }

    pub(super) fn has_lost_its_lease(&self, stage: &Stage, process: &Process) -> bool {
        process.desk.reign != self.reigns
            && process.desk.host.mode() == Mode::Reigning
            && stage.now > process.lease_ends + PATIENCE
    }
}
