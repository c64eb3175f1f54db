//! A scheduler that is stopped for a while, or whose machine sleeps: it hears nothing, does nothing,
//! and knows nothing of it when it goes on.

use bellwether_host::Mode;

use super::Scheduler;
use crate::faults::due::Due;
use crate::faults::stage::Stage;

#[derive(Debug)]
pub(super) struct Stopped {
    reign: u32,
    /// What came meanwhile, in order.
    missed: Vec<Due>,
}

impl Scheduler {
    /// The reigning process is stopped, often for longer than anything that it waits for.
    pub(crate) fn stop(&mut self, stage: &mut Stage) {
        let reigns = |process: &super::Process| process.desk.host.mode() == Mode::Reigning;
        let Some(process) = self.process.as_ref().filter(|process| reigns(process)) else { return };
        if self.stopped.is_some() {
            return;
        }
        let length = stage.random.skewed(300_000, 120_000_000);
        let term = process.desk.host.state().config().unreachable_after;
        stage.count("scheduler_stopped");
        if length > term.0 {
            stage.count("scheduler_stopped_past_leases");
        }
        stage.note(|| format!("the scheduler is stopped for {length} us"));
        stage.fall_deaf();
        let reign = process.desk.reign;
        self.stopped = Some(Stopped { reign, missed: Vec::new() });
        stage.after(length, Due::Continues { reign });
    }

    pub(crate) fn is_stopped(&self) -> Option<u32> {
        self.stopped.as_ref().map(|stopped| stopped.reign)
    }

    /// Gives back what is due unless it concerns a process that is stopped, which will find it when
    /// it goes on.
    pub(crate) fn attend(&mut self, due: Due) -> Option<Due> {
        let Some(stopped) = &mut self.stopped else { return Some(due) };
        let concerned = match &due {
            Due::Arrives(_) => true,
            Due::AppendEnds { reign }
            | Due::SnapshotEnds { reign }
            | Due::Rebuilds { reign }
            | Due::Wakes { reign } => *reign == stopped.reign,
            Due::Answered { .. }
            | Due::Delivered { .. }
            | Due::Continues { .. }
            | Due::TakesOver { .. }
            | Due::Boots
            | Due::Worker { .. }
            | Due::Client(_)
            | Due::Chaos(_)
            | Due::Among(_)
            | Due::Heals => false,
        };
        if concerned {
            stopped.missed.push(due);
            return None;
        }
        Some(due)
    }

    /// What a stopped process missed, if it is stopped.
    pub(crate) fn go_on_after_stop(&mut self, stage: &mut Stage, reign: u32) -> Option<Vec<Due>> {
        let stopped = self.stopped.take_if(|stopped| stopped.reign == reign)?;
        stage.note(|| format!("the scheduler goes on; {} things wait", stopped.missed.len()));
        stage.hear_again();
        Some(stopped.missed)
    }
}
