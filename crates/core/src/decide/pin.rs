//! Pinning: an operator says who runs the job.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{JobId, WorkerId};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn pin(&mut self, id: &JobId, worker: &WorkerId) -> Result<Answer, Rejection> {
        let no = self.find_job(id)?;
        let worker = self.find_worker(worker)?;
        let job = self.state.expect_job(no);
        if job.state.has_ended() {
            return Err(Rejection::AlreadyEnded {
                id: id.clone(),
                state: job.state.status().as_str(),
            });
        }
        if let Some(attempt) = job.offers().first() {
            let worker = self.state.expect_worker(attempt.worker).id().clone();
            return Err(Rejection::AlreadyPlaced { id: id.clone(), worker });
        }
        self.emit(Event::Pinned { job: no, worker });
        Ok(Answer::Done)
    }
}
