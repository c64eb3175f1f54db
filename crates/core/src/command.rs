//! Wishes from outside. A command may be refused; nothing but the engine changes state.

use bytes::Bytes;

use crate::model::{
    Admission, Checkpoint, Config, FailureCause, Handoff, Heartbeat, HeldAttempt, JobId, JobNo,
    KeyTerms, Micros, Name, Sample, Submission, Ticket, Timestamp, Token, WallAhead, WorkerId,
    WorkerKey, WorkerSpec,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Submit(Submission),
    Cancel {
        job: JobId,
        reason: String,
    },
    /// Run a job again that ended without completing.
    Retry {
        job: JobId,
        /// Even if it may then run twice though it is to run at most once.
        force: bool,
    },
    /// Only this worker may run the job from now on.
    Pin {
        job: JobId,
        worker: WorkerId,
    },

    /// A worker (re)connects. `held` is what it still runs or has results of.
    Register {
        spec: WorkerSpec,
        held: Vec<HeldAttempt>,
        admission: Admission,
    },
    /// Whoever brings this ticket is this worker from then on, with the key that it brings.
    Invite {
        worker: WorkerId,
        ticket: Ticket,
        terms: KeyTerms,
        lasts: Micros,
    },
    /// This key speaks for the worker from now on.
    ApproveKey {
        worker: WorkerId,
        key: WorkerKey,
        terms: KeyTerms,
    },
    /// The holder of the old key wants the new one to speak for the worker; the edge has checked
    /// that it is the holder of both.
    RotateKey {
        worker: WorkerId,
        from: WorkerKey,
        to: WorkerKey,
        /// On the wall clock: one from before the last change is a repetition.
        issued: Timestamp,
    },
    /// Nobody speaks for the worker any more; what it holds is placed anew.
    RevokeKey {
        worker: WorkerId,
    },
    Heartbeat {
        worker: WorkerId,
        beat: Heartbeat,
    },
    Report {
        worker: WorkerId,
        attempt: HeldAttempt,
        report: Report,
    },
    ModelLoaded {
        worker: WorkerId,
        model: Name,
        took: Micros,
    },
    Drain {
        worker: WorkerId,
    },
    Undrain {
        worker: WorkerId,
    },
    /// The worker says goodbye: what it holds is given back.
    Leave {
        worker: WorkerId,
    },

    /// Jobs of this type stay in the queue.
    Pause {
        kind: Name,
    },
    Unpause {
        kind: Name,
    },
    /// Refused if another version than the expected one holds.
    Configure {
        config: Box<Config>,
        expected_version: Option<u64>,
    },
    /// What jobs of a type took, as somebody else remembers it.
    Warm {
        kind: Name,
        samples: Vec<Sample>,
    },
    /// Time has passed.
    Tick,
    /// Nobody has listened for so long: that counts against nobody.
    ExtendTerms {
        by: Micros,
    },
    /// The scheduler has signed what is durable.
    Checkpoint(Box<Checkpoint>),
    /// The wall clock was set, or goes its own way.
    StepClock {
        ahead: WallAhead,
    },
    /// Whoever leads is to know this, also after this scheduler.
    Note {
        name: Name,
        value: Name,
    },
}

/// What a worker says of an attempt. Every report is fenced by the attempt's token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// It has arrived; an at_least_once or at_most_once job starts with it.
    Acknowledge,
    /// May I start? Only for exactly_once; answered by [`crate::Effect::Grant`] once durable.
    Claim,
    Progress {
        permille: u32,
        note: String,
    },
    Complete {
        result: Bytes,
    },
    Fail {
        cause: FailureCause,
        error: String,
        retry_after: Option<Micros>,
    },
    /// Another worker or role is to go on with it.
    HandOff(Box<Handoff>),
}

/// What a command achieved. To be told to the asker once its events are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// In the order of the submission. `known` are their ids if the idempotency keys had been seen:
    /// nothing new. None is the id of a job that has left the core.
    Submitted {
        jobs: Vec<JobNo>,
        known: Option<Vec<Option<JobId>>>,
        throttle: Option<Throttle>,
    },
    /// The worker's number, and the attempts that it must drop.
    Registered {
        worker: crate::model::WorkerNo,
        unknown: Vec<HeldAttempt>,
    },
    /// The result was already committed with this hash: as good as done.
    AlreadyCompleted,
    Done,
}

/// The queue fills up: please slow down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    pub filled_percent: u32,
    pub pause: Micros,
}

/// Names an attempt in commands and effects.
pub fn attempt(job: JobNo, token: Token) -> HeldAttempt {
    HeldAttempt { job, token }
}
