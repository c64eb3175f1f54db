//! Running a job again by hand, and with it those that were skipped because of it.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{JobId, JobNo, OnFailure};
use crate::rejection::Rejection;
use crate::state::{Job, JobState};

impl Engine {
    pub(crate) fn retry(&mut self, id: &JobId) -> Result<Answer, Rejection> {
        let no = self.find_job(id)?;
        let job = self.state.expect_job(no);
        if !retryable(job) {
            return Err(Rejection::NotRetryable { id: id.clone(), state: job.state.name() });
        }
        self.emit(Event::Reopened { job: no });
        let mut reopened = vec![no];
        while let Some(cause) = reopened.pop() {
            for dependent in self.skipped_with(cause) {
                self.emit(Event::Reopened { job: dependent });
                reopened.push(dependent);
            }
        }
        Ok(Answer::Done)
    }

    /// Jobs skipped for want of this one, and of no other.
    fn skipped_with(&self, cause: JobNo) -> Vec<JobNo> {
        let dependents = &self.state.expect_job(cause).dependents;
        let skipped = |no: &JobNo| {
            let Some(job) = self.state.job(*no) else { return false };
            matches!(job.state, JobState::Skipped { .. }) && !self.has_failed_dependency(job)
        };
        dependents.iter().copied().filter(skipped).collect()
    }

    fn has_failed_dependency(&self, job: &Job) -> bool {
        job.spec.dependencies.iter().any(|dependency| {
            self.state.job(*dependency).is_some_and(|job| {
                job.state.has_ended() && !matches!(job.state, JobState::Completed { .. })
            })
        })
    }
}

fn retryable(job: &Job) -> bool {
    let runnable = !job.broken || job.spec.on_failure == OnFailure::Run;
    match job.state {
        JobState::Failed { .. } | JobState::DeadLettered { .. } => true,
        JobState::Cancelled => runnable,
        JobState::Waiting { .. }
        | JobState::Delayed { .. }
        | JobState::Ready
        | JobState::Active(_)
        | JobState::Completed { .. }
        | JobState::Skipped { .. } => false,
    }
}
