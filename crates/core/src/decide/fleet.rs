//! Draining workers, and workers that leave.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{WorkerId, WorkerStatus};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn drain(&mut self, id: &WorkerId) -> Result<Answer, Rejection> {
        let no = self.find_worker(id)?;
        if !self.state.expect_worker(no).draining {
            self.emit(Event::WorkerDraining { worker: no });
        }
        Ok(Answer::Done)
    }

    pub(crate) fn undrain(&mut self, id: &WorkerId) -> Result<Answer, Rejection> {
        let no = self.find_worker(id)?;
        if self.state.expect_worker(no).draining {
            self.emit(Event::WorkerUndrained { worker: no });
        }
        Ok(Answer::Done)
    }

    pub(crate) fn leave(&mut self, id: &WorkerId) -> Result<Answer, Rejection> {
        let no = self.find_worker(id)?;
        if self.state.expect_worker(no).status != WorkerStatus::Unreachable {
            self.abandon(no, "the worker left");
            self.emit(Event::WorkerLeft { worker: no });
        }
        Ok(Answer::Done)
    }
}
