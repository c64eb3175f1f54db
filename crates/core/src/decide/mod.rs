//! Wishes become facts, or are refused. One file per command.
//!
//! A decision reads the state and emits events; it never writes the state itself. Whatever may be
//! refused is checked before the first event is emitted, so nothing is half done.

mod cancel;
mod concurrency;
mod configure;
mod dag;
mod fate;
mod fleet;
mod hand_off;
mod heartbeat;
mod keys;
mod note;
mod pin;
mod register;
mod report;
mod retry;
mod silence;
mod submit;
mod tick;
mod time;
mod warm;

use crate::engine::Engine;
use crate::model::limits::TEXT_BYTES_MAX;
use crate::model::{JobId, JobNo, WorkerId, WorkerNo};
use crate::rejection::Rejection;

impl Engine {
    fn find_job(&self, id: &JobId) -> Result<JobNo, Rejection> {
        let known = self.state.job_no(id.as_str());
        known.ok_or_else(|| Rejection::UnknownJob { id: id.clone() })
    }

    fn find_worker(&self, id: &WorkerId) -> Result<WorkerNo, Rejection> {
        let known = self.state.worker_no(id.as_str());
        known.ok_or_else(|| Rejection::UnknownWorker { id: id.clone() })
    }
}

/// Keeps the start of a text that somebody else wrote.
fn bounded(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        let mut end = TEXT_BYTES_MAX;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
    }
    text
}
