//! Running a job again by hand, and with it those that were skipped because of it.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::{Guarantee, JobId, JobNo, OnFailure};
use crate::rejection::Rejection;
use crate::state::{Job, JobState};

impl Engine {
    pub(crate) fn retry(&mut self, id: &JobId, force: bool) -> Result<Answer, Rejection> {
        let no = self.find_job(id)?;
        let job = self.state.expect_job(no);
        if !retryable(job) {
            return Err(Rejection::NotRetryable {
                id: id.clone(),
                state: job.state.status().as_str(),
            });
        }
        let was_offered = job.attempts > 0;
        if was_offered && !force && job.spec.guarantee == Guarantee::AtMostOnce {
            return Err(Rejection::NeedsForce { id: id.clone() });
        }
        if job.broken > 0 && job.spec.on_failure == OnFailure::Skip {
            return Err(self.broken(id, job));
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
            matches!(job.state, JobState::Skipped { .. }) && job.broken == 0
        };
        dependents.iter().copied().filter(skipped).collect()
    }

    fn broken(&self, id: &JobId, job: &Job) -> Rejection {
        let known = job.dependencies.iter().filter_map(|no| self.state.job(*no));
        let mut ended = known.filter(|job| job.state.has_ended());
        let failed = ended.find(|job| !matches!(job.state, JobState::Completed { .. }));
        match failed {
            Some(dependency) => {
                let dependency = dependency.spec.id.clone();
                Rejection::DependencyFailed { id: id.clone(), dependency }
            }
            None => {
                let state = "behind a dependency that failed and is forgotten";
                Rejection::NotRetryable { id: id.clone(), state }
            }
        }
    }
}

/// A skipped job is one whose dependency must be retried.
fn retryable(job: &Job) -> bool {
    match job.state {
        JobState::Failed { .. }
        | JobState::DeadLettered { .. }
        | JobState::Cancelled
        | JobState::Skipped { .. } => true,
        JobState::Waiting { .. }
        | JobState::Delayed { .. }
        | JobState::Ready
        | JobState::Active(_)
        | JobState::Completed { .. } => false,
    }
}
