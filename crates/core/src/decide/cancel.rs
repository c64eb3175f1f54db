//! Cancelling: the job ends now, whatever its workers still do.

use super::bounded;
use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{JobId, RevokeReason, Token};
use crate::rejection::Rejection;

impl Engine {
    pub(crate) fn cancel(&mut self, id: &JobId, reason: String) -> Result<Answer, Rejection> {
        let no = self.find_job(id)?;
        let job = self.state.expect_job(no);
        if job.state.has_ended() {
            return Err(Rejection::AlreadyEnded {
                id: id.clone(),
                state: job.state.status().as_str(),
            });
        }
        let tokens: Vec<Token> = job.offers().iter().map(|attempt| attempt.token).collect();
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::KeepCancelledRunning) && !tokens.is_empty() {
            return Ok(Answer::Done);
        }
        self.revoke_all(no, &tokens, RevokeReason::Cancelled);
        self.end_without_result(no, Event::Cancelled { job: no, reason: bounded(reason) });
        Ok(Answer::Done)
    }
}
