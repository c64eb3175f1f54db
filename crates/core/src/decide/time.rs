//! The scheduler's own absence, and the wall clock that goes its own way.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{Micros, WallAhead, WorkerNo};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn extend_terms(&mut self, by: Micros) -> Result<Answer, Rejection> {
        self.restart_terms(by);
        Ok(Answer::Done)
    }

    /// The scheduler was away: stopped, suspended, or not running at all. That is nobody's fault, so
    /// every worker has a full term again, open attempts lose nothing of theirs, and what was sent
    /// meanwhile is heard before anybody is given up.
    pub(crate) fn restart_terms(&mut self, away: Micros) {
        let now = self.state.now;
        let has_attempts = self.state.workers.iter().any(|(_, worker)| !worker.held.is_empty());
        if has_attempts && away > self.state.config.away_after() {
            self.emit(Event::TermsExtended { by: away });
        }
        let workers: Vec<WorkerNo> = self.state.workers.keys().collect();
        for no in workers {
            self.heard_of(no);
        }
        let grace = self.state.config.heartbeat_interval.times(2);
        self.state.index.timers.postpone_attempts(now + grace);
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::SnapshotForgetsTimers) {
            self.state.index.timers.clear();
        }
    }

    pub(crate) fn step_clock(&mut self, ahead: WallAhead) -> Result<Answer, Rejection> {
        let known = self.state.wall_ahead;
        if ahead != known {
            self.emit(Event::ClockStepped { from: known, to: ahead });
        }
        Ok(Answer::Done)
    }
}
