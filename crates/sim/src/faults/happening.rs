//! What travels and what is due in the simulated world.

use bellwether_core::model::{HeldAttempt, RevokeReason, Token};
use bellwether_core::{Answer, Command, Offer, Rejection};

#[derive(Debug, Clone)]
pub(crate) enum Happening {
    /// A command reaches the scheduler.
    Arrives(Box<Letter>),
    /// An answer reaches the one who asked.
    Answered {
        to: Asker,
        result: Box<Result<Answer, Rejection>>,
    },
    /// A released effect reaches its worker, if that is still the process it was sent to.
    Delivered {
        worker: usize,
        instance: u64,
        message: ToWorker,
    },
    /// The disk has done, or failed, what the scheduler asked for.
    AppendEnds {
        incarnation: u32,
    },
    /// The scheduler's timer fires.
    Wakes {
        incarnation: u32,
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
    /// The faults end.
    Heals,
}

#[derive(Debug, Clone)]
pub(crate) struct Letter {
    pub from: Asker,
    pub command: Command,
}

/// Who waits for an answer, and to what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asker {
    Client {
        request: usize,
    },
    Worker {
        worker: usize,
        instance: u64,
        about: About,
    },
    /// The scheduler's own timer.
    Nobody,
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
    /// The broken connection is noticed.
    Reconnects,
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
    ClockJump,
}
