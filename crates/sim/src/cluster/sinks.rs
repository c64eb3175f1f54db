//! What a leader does for others: it tells events to somebody outside, and reads a queue.

use bellwether_core::model::Seq;

use super::defect::SeatDefect;
use super::node::{Node, Scene};
use super::process::Process;
use super::sight::Sight;
use crate::faults::Defect;
use crate::faults::court::Observation;

/// What the next leader finds the position under.
const NOTE: &str = "sim-sink";
/// Between two notes, in microseconds.
const NOTED_EVERY: u64 = 1_000_000;
/// Per thousand steps: the queue is looked at.
const READS: u32 = 20;

impl Node {
    /// Where a reign that begins at `known` goes on telling.
    pub(super) fn resume_from(&self, scene: &Scene<'_>, known: Seq) -> Seq {
        if scene.settings.defect == Some(Defect::Seat(SeatDefect::PositionStaysLocal)) {
            return self.told.unwrap_or(known);
        }
        let state = self.process.as_ref().map(|process| process.desk.host.state());
        let noted = state.and_then(|state| state.note(NOTE)?.as_str().parse().ok());
        Seq(noted.unwrap_or(0))
    }

    /// Tells what has become durable, and notes now and then how far that is.
    pub(super) fn tell_outside(&mut self, scene: &mut Scene<'_>) {
        let Some(Process { desk, reign: Some(reign), .. }) = &mut self.process else { return };
        let (after, last) = (reign.told, desk.host.durable().seq);
        if last <= after {
            return;
        }
        scene.stage.see(Observation::Among(Sight::Told { member: self.id, after, last }));
        reign.told = last;
        self.told = Some(last);
        if scene.stage.now >= reign.noted_at + NOTED_EVERY {
            reign.noted_at = scene.stage.now;
            desk.note(scene.stage, NOTE, &last.0.to_string());
        }
    }

    /// Only a leader whose lease holds may.
    pub(super) fn read_queue(&mut self, scene: &mut Scene<'_>) {
        let now = self.clock.monotonic(scene.stage.now);
        let Some(Process { reign, accession, .. }) = &self.process else { return };
        let by = reign.as_ref().map(|reign| reign.by);
        let holds = accession.as_ref().is_some_and(|accession| now < accession.lease_ends);
        let may = by.is_some() && holds;
        let reads_anyway =
            scene.settings.defect == Some(Defect::Seat(SeatDefect::FollowerReadsQueue));
        if (may || reads_anyway) && scene.stage.random.chance(READS) {
            scene.stage.see(Observation::Among(Sight::Read { member: self.id, by }));
        }
    }
}
