//! What travels and what is due in the simulated world.

use bellwether_core::model::{HeldAttempt, RevokeReason, Token};
use bellwether_core::{Answer, Command, Offer, Rejection};
use bellwether_host::Unavailable;

use crate::cluster::due::AmongDue;

#[derive(Debug, Clone)]
pub(crate) enum Due {
    /// A command reaches the scheduler.
    Arrives(Box<Letter>),
    /// An answer reaches the one who asked.
    Answered {
        to: Asker,
        outcome: Box<Outcome>,
    },
    /// A released effect reaches its worker, if that is still the process it was sent to, on the
    /// connection that it was sent on.
    Delivered {
        worker: usize,
        instance: u64,
        connection: u32,
        message: ToWorker,
    },
    /// The disk has done, or failed, what the scheduler asked for.
    AppendEnds {
        reign: u32,
    },
    /// A snapshot has been written, or has not.
    SnapshotEnds {
        reign: u32,
    },
    /// The state that the journal makes has been read.
    Rebuilds {
        reign: u32,
    },
    /// The scheduler's timer fires.
    Wakes {
        reign: u32,
    },
    /// A scheduler that was stopped goes on.
    Continues {
        reign: u32,
    },
    /// A scheduler that was cut off from the journal has lost its lease: another takes over.
    TakesOver {
        reign: u32,
    },
    /// A new scheduler process starts.
    Boots,
    Worker {
        worker: usize,
        instance: u64,
        due: WorkerDue,
    },
    Client(ClientDue),
    Chaos(ChaosDue),
    /// Of several schedulers.
    Among(AmongDue),
    /// The faults end.
    Heals,
}

/// What became of a letter: an answer, or a word on why there is none.
pub(crate) type Outcome = Result<Result<Answer, Rejection>, Unavailable>;

#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub from: Asker,
    pub command: Command,
}

impl Letter {
    pub(crate) fn is_from_client(&self) -> bool {
        matches!(self.from, Asker::Client { .. })
    }
}

/// Who waits for an answer, and to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Client { request: usize },
    Worker { worker: usize, instance: u64, about: About },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    Registration { connection: u32 },
    Heartbeat,
    Attempt { attempt: HeldAttempt, kind: ReportKind },
    Forgery,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportKind {
    Acknowledge,
    Claim,
    Progress,
    End,
}

#[derive(Debug, Clone)]
pub(crate) enum ToWorker {
    Offer(Box<Offer>),
    Grant(HeldAttempt),
    Revoke(HeldAttempt, RevokeReason),
    Drain,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum WorkerDue {
    /// Heartbeat, progress, and whatever has not been answered once more.
    Poll,
    ModelReady(Token),
    JobEnds(Token),
    /// The process starts, or starts again.
    Starts,
    /// The end of a connection is noticed.
    Reconnects {
        connection: u32,
    },
    Resumes,
    /// It gets on with its work again.
    Recovers,
    /// The network reaches it again.
    Rejoins,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ClientDue {
    Acts,
    /// What blocks jobs is undone.
    Undoes,
    Resends {
        request: usize,
    },
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum ChaosDue {
    WorkerFault,
    ClockStep,
    DiskFills,
    DiskHasRoom,
    Takeover,
    SchedulerStops,
}
