//! The channels of a queue and their names.

use std::fmt;
use std::sync::Arc;

/// The name of a worker that takes part over the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerName(Arc<str>);

impl WorkerName {
    /// Any text that is not empty.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One channel of a queue. With the prefix `kai-job` they are called, by backend:
///
/// | channel | Redis streams, SQLite tables | RabbitMQ queues | NATS subjects |
/// | --- | --- | --- | --- |
/// | jobs | `kai-job:jobs` | `kai-job.jobs` | `kai-job.jobs` |
/// | replies | `kai-job:replies` | `kai-job.replies` | `kai-job.replies` |
/// | dispatch to w1 | `kai-job:dispatch:w1` | `kai-job.dispatch.w1` | `kai-job.dispatch.w1` |
/// | events | `kai-job:events` | `kai-job.events` | `kai-job.events` |
/// | dead letters | `kai-job:dead` | `kai-job.dead` | `kai-job.dead` |
///
/// SQLite has one table `kai-job:dispatch` with a column `worker`. ZeroMQ has sockets instead of
/// names: see [`ZeroMqSettings`](crate::ZeroMqSettings).
///
/// In all but the events each message goes to one reader, who settles it. The events are a log:
/// every reader sees all that is kept of it, from the start, and settling does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Jobs from whoever submits them.
    Jobs,
    /// What workers have to say: register, heartbeat, acknowledge, complete.
    Replies,
    /// Offers to one worker.
    Dispatch(WorkerName),
    /// Lifecycle events.
    Events,
    /// Messages that could not be read, with the error. They come here by
    /// [`Settlement::DeadLetter`](crate::Settlement::DeadLetter), not by publishing.
    Dead,
}

impl Channel {
    /// Offers to the worker of this name.
    pub fn dispatch(worker: impl Into<Arc<str>>) -> Self {
        Self::Dispatch(WorkerName::new(worker))
    }

    /// The name of the channel without its worker: jobs, replies, dispatch, events or dead.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Jobs => "jobs",
            Self::Replies => "replies",
            Self::Dispatch(_) => "dispatch",
            Self::Events => "events",
            Self::Dead => "dead",
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dispatch(worker) => write!(f, "dispatch:{worker}"),
            Self::Jobs | Self::Replies | Self::Events | Self::Dead => f.write_str(self.kind()),
        }
    }
}
