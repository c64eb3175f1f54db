//! The states of a job as everybody is shown them: one list, one table of words.

use super::Timestamp;
use crate::words;

/// Where a job is in its life, without what goes with it. In the order of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobStatus {
    /// For dependencies.
    Waiting,
    /// For its time or its backoff.
    Delayed,
    /// For a worker.
    Ready,
    Offered,
    Running,
    Completed,
    Failed,
    Cancelled,
    /// A dependency did not complete.
    Skipped,
    DeadLettered,
}

words!(
    JobStatus:
    Waiting => "waiting", Delayed => "delayed", Ready => "ready", Offered => "offered",
    Running => "running", Completed => "completed", Failed => "failed", Cancelled => "cancelled",
    Skipped => "skipped", DeadLettered => "dead_lettered",
);

impl JobStatus {
    /// Of a job that waits for no other and may start from then on.
    pub(crate) fn queued(not_before: Timestamp, at: Timestamp) -> JobStatus {
        if not_before > at { JobStatus::Delayed } else { JobStatus::Ready }
    }

    pub fn has_ended(self) -> bool {
        self >= JobStatus::Completed
    }
}
