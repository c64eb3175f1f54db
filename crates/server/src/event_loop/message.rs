//! What the loop is sent.

use bellwether_core::model::{HeldAttempt, JobId, JobNo, Seq, Submission, WorkerId, WorkerSpec};
use bellwether_core::{Command, Rejection, Report, Throttle};
use bellwether_journal::Snapshot;
use bellwether_journal::thread::Outcome;
use bellwether_wire::Malformed;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::outbox::{End, Outgoing};
use super::unavailable::Unavailable;
use super::view::View;
use super::waiters::Ended;

/// Room that a message takes in the inbox; given back once it has been handled.
pub(crate) type Room = OwnedSemaphorePermit;

#[derive(Debug)]
pub(crate) enum Message {
    Submit {
        submissions: Vec<Submission>,
        reply: oneshot::Sender<Result<Vec<Taken>, Unavailable>>,
        room: Room,
    },
    Commands {
        commands: Vec<Command>,
        reply: oneshot::Sender<Result<Vec<Settled>, Unavailable>>,
        room: Room,
    },
    Session {
        session: SessionKey,
        input: Box<SessionInput>,
        room: Room,
    },
    SessionClosed(SessionKey),
    Ask {
        question: Question,
        room: Room,
    },
    Wait {
        wish: Wait,
        room: Room,
    },
    /// The state as of now, once all of it is durable.
    Snapshot(oneshot::Sender<Snapshot>),
    Journal(Outcome),
    SnapshotSaved(super::snapshots::Saved),
    /// Flush, snapshot, send workers away, end.
    Stop(oneshot::Sender<()>),
}

/// Names a session for as long as the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SessionKey(pub(crate) u64);

/// What became of a submission.
#[derive(Debug)]
pub(crate) struct Taken {
    /// Durable by the time that anybody sees this.
    pub(crate) seq: Seq,
    pub(crate) result: Result<TakenJobs, Rejection>,
}

#[derive(Debug)]
pub(crate) struct TakenJobs {
    pub(crate) jobs: Vec<JobNo>,
    /// The ids of jobs that had been submitted before under the same idempotency keys.
    pub(crate) known: Option<Vec<JobId>>,
    pub(crate) throttle: Option<Throttle>,
}

/// What became of another command.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) seq: Seq,
    pub(crate) result: Result<(), Rejection>,
}

/// One message of a worker, parsed. Its parts are handled in this order.
#[derive(Debug)]
pub(crate) struct SessionInput {
    pub(crate) worker: WorkerId,
    pub(crate) register: Option<Registration>,
    pub(crate) before: Vec<Command>,
    pub(crate) reports: Vec<NumberedReport>,
    pub(crate) malformed: Vec<(ReportNumber, Malformed)>,
    pub(crate) after: Vec<Command>,
    /// The number of the last report in this message or before it.
    pub(crate) last_report: ReportNumber,
}

/// Counted from 1 on a stream; 0 is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ReportNumber(pub(crate) u64);

#[derive(Debug)]
pub(crate) struct NumberedReport {
    pub(crate) number: ReportNumber,
    pub(crate) attempt: HeldAttempt,
    pub(crate) report: Report,
}

#[derive(Debug)]
pub(crate) struct Registration {
    pub(crate) spec: WorkerSpec,
    pub(crate) held: Vec<HeldAttempt>,
    pub(crate) outgoing: mpsc::Sender<Result<Outgoing, End>>,
}

/// Looks at the state and gives back how to tell what it saw, once that is durable.
pub(crate) struct Question(pub(crate) Box<dyn FnOnce(&View<'_>) -> Tell + Send>);
pub(crate) type Tell = Box<dyn FnOnce(Result<(), Unavailable>) + Send>;

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Question")
    }
}

#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) ids: Vec<JobId>,
    /// Starts and progress, too.
    pub(crate) progress: bool,
    pub(crate) told: mpsc::UnboundedSender<Ended>,
    /// Ids that the core does not know or whose jobs have ended already.
    pub(crate) reply: oneshot::Sender<Result<WaitStarted, Unavailable>>,
}

#[derive(Debug)]
pub(crate) struct WaitStarted {
    pub(crate) seq: Seq,
    pub(crate) not_waited_for: Vec<JobId>,
}
