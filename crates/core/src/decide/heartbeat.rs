//! Signs of life. That a worker lives is volatile; what its report says of its load is a fact that
//! decisions rest on, and becomes an event where it has changed.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::index::timers::Timer;
use crate::model::{Heartbeat, WorkerId, WorkerNo, WorkerStatus};
use crate::rejection::Rejection;

/// A change of load below this is noise.
const LOAD_CHANGE_PERMILLE: u32 = 50;
/// An unchanged report is repeated after so many heartbeats, or its load would decay away.
const REPEAT_AFTER_BEATS: u64 = 3;

impl Engine {
    pub(crate) fn heartbeat(
        &mut self,
        id: &WorkerId,
        beat: Heartbeat,
    ) -> Result<Answer, Rejection> {
        let no = self.find_worker(id)?;
        let worker = self.state.expect_worker(no);
        if worker.status == WorkerStatus::Unreachable {
            // It was given up: it must say what it still holds.
            return Err(Rejection::UnknownWorker { id: id.clone() });
        }
        let foreign = beat.load_permille.saturating_sub(worker.own_load_permille());
        let quiet_for = self.state.now.since(worker.beat_at);
        let repeat_after = self.state.config.heartbeat_interval.times(REPEAT_AFTER_BEATS);
        let changed = foreign.abs_diff(worker.foreign_load_permille) >= LOAD_CHANGE_PERMILLE
            || beat.queue_depth != worker.beat.queue_depth
            || beat.overloaded != worker.beat.overloaded
            || (worker.foreign_load_permille > 0 && quiet_for > repeat_after);
        self.heard_of(no);
        self.state.expect_worker_mut(no).listing.beat = Some(beat);
        if changed {
            self.emit(Event::WorkerReported { worker: no, beat });
        }
        self.try_silent_again(no);
        Ok(Answer::Done)
    }

    /// Starts the worker's term anew.
    pub(crate) fn heard_of(&mut self, no: WorkerNo) {
        let now = self.state.now;
        let term = self.state.config.unreachable_after;
        let Some(worker) = self.state.workers.get_mut(no) else { return };
        let seen = std::mem::replace(&mut worker.listing.seen_at, now);
        if seen == now && worker.listing.watched {
            return;
        }
        let was_watched = std::mem::replace(&mut worker.listing.watched, true);
        // One timer a worker: it is moved when it fires, not with every sign of life.
        if !was_watched {
            self.state.index.timers.set(now + term, Timer::Worker(no));
        }
    }
}
