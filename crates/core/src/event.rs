//! Facts. The state is what the events make of it, and nothing else.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::life::Moved;
use crate::model::config::Weights;
use crate::model::{
    AcceptedJob, Actor, ActorNo, Checkpoint, Config, FailureCause, Handoff, Heartbeat, JobNo,
    KeyStanding, KeyTerms, Micros, Name, Priority, RevokeReason, RunId, RunNo, Sample, Seq,
    Strategy, Ticket, Timestamp, Token, WallAhead, WorkerId, WorkerKey, WorkerNo, WorkerSpec,
};
use crate::words;

/// An event at its place in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub seq: Seq,
    pub at: Timestamp,
    /// The event before it in the life of the same job or worker.
    pub parent: Option<Seq>,
    /// Who wished for it; a worker's own reports are those of the worker that they name.
    pub actor: ActorNo,
    pub event: Event,
    /// Jobs that it brings into another state without naming them; journals of before it was kept
    /// have none.
    pub moved: Box<[Moved]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The jobs are numbered from `first` on, in order.
    Submitted {
        run: Option<RunHeader>,
        first: JobNo,
        jobs: Vec<AcceptedJob>,
    },
    /// A decision: the job is offered to a worker. The entry's position is the attempt's token.
    Assigned {
        job: JobNo,
        worker: WorkerNo,
        hedge: bool,
        decision: Box<Decision>,
    },
    /// The worker has it, and runs it.
    Started {
        job: JobNo,
        token: Token,
    },
    /// The one claim of an exactly_once job: the worker may start.
    Granted {
        job: JobNo,
        token: Token,
    },
    Progressed {
        job: JobNo,
        token: Token,
        permille: u32,
        note: String,
    },
    Completed {
        job: JobNo,
        token: Token,
        result: Bytes,
        result_hash: [u8; 32],
    },
    /// An attempt ended without a result; what becomes of the job follows in its own event.
    AttemptFailed {
        job: JobNo,
        token: Token,
        cause: FailureCause,
        error: String,
    },
    /// An offer lost against its hedge, or the other way round.
    Revoked {
        job: JobNo,
        token: Token,
        reason: RevokeReason,
    },
    /// Its worker gave the attempt away: the job waits for the receiver.
    HandedOff {
        job: JobNo,
        token: Token,
        handoff: Box<Handoff>,
    },
    /// The job waits for its next attempt.
    Retried {
        job: JobNo,
        not_before: Timestamp,
        /// Where it failed: it is placed elsewhere if it can be.
        avoid: Option<WorkerNo>,
    },
    /// Its moment has come: its delay or backoff is over.
    Due {
        job: JobNo,
    },
    /// The job's retries are used up: another round with more weight or another role.
    Escalated {
        job: JobNo,
        priority: Priority,
        role: Option<Name>,
    },
    DeadLettered {
        job: JobNo,
        reason: DeadReason,
    },
    /// Ended for good without a further attempt, as its guarantee or its worker said.
    Failed {
        job: JobNo,
        cause: FailureCause,
    },
    /// A dependency did not complete.
    Skipped {
        job: JobNo,
        because: JobNo,
    },
    /// As it asked for: its key was at its limit when it came.
    SkippedByKey {
        job: JobNo,
        key: Name,
        /// The oldest of those that have the key.
        holder: JobNo,
    },
    Cancelled {
        job: JobNo,
        reason: String,
    },
    /// By hand: the job starts over with fresh counts.
    Reopened {
        job: JobNo,
    },
    Pinned {
        job: JobNo,
        worker: WorkerNo,
    },

    WorkerJoined {
        worker: WorkerNo,
        spec: Arc<WorkerSpec>,
    },
    /// The same process came back.
    WorkerReturned {
        worker: WorkerNo,
    },
    WorkerReported {
        worker: WorkerNo,
        beat: Heartbeat,
    },
    WorkerDraining {
        worker: WorkerNo,
    },
    WorkerUndrained {
        worker: WorkerNo,
    },
    WorkerLost {
        worker: WorkerNo,
    },
    WorkerLeft {
        worker: WorkerNo,
    },
    /// It did not answer its offers: it is given nothing until it speaks.
    WorkerSilent {
        worker: WorkerNo,
    },
    /// A silent worker has spoken.
    WorkerHeard {
        worker: WorkerNo,
    },
    ModelLoaded {
        worker: WorkerNo,
        model: Name,
        took: Micros,
    },
    /// A ticket was given out. Workers are named here: they need not have come yet.
    WorkerInvited {
        worker: WorkerId,
        ticket: Ticket,
        terms: Box<KeyTerms>,
        expires: Timestamp,
    },
    /// The key speaks for the worker from now on.
    WorkerKeyBound {
        worker: WorkerId,
        key: WorkerKey,
        standing: KeyStanding,
        terms: Box<KeyTerms>,
        /// The one that it was bound by, which is used up.
        ticket: Option<Ticket>,
    },
    /// Another key of the same holder does.
    WorkerKeyRotated {
        worker: WorkerId,
        key: WorkerKey,
    },
    WorkerKeyRevoked {
        worker: WorkerId,
    },

    Paused {
        kind: Name,
    },
    Unpaused {
        kind: Name,
    },
    Configured {
        version: u64,
        config: Box<Config>,
    },
    PredictorFailed {
        job: JobNo,
        error: String,
    },
    BreakerOpened {
        until: Timestamp,
    },
    BreakerClosed,
    /// Predictions of a type have become worse than they were.
    DriftDetected {
        kind: Name,
        error_percent: u32,
        usual_percent: u32,
    },
    /// A type without a history was given one, from elsewhere.
    Warmed {
        kind: Name,
        samples: Vec<Sample>,
    },
    /// The scheduler was away for so long. Open attempts are given that time once more.
    TermsExtended {
        by: Micros,
    },
    /// The scheduler has signed what the journal was at a position before this one.
    Checkpointed {
        checkpoint: Box<Checkpoint>,
    },
    /// Somebody acts for the first time: later entries name them by number.
    ActorNamed {
        number: ActorNo,
        actor: Actor,
    },
    /// The wall clock, which had been this far ahead of the scheduler's time, is that far ahead now.
    ClockStepped {
        from: WallAhead,
        to: WallAhead,
    },
    /// The next leader is to know this.
    Noted {
        name: Name,
        value: Name,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunHeader {
    pub run: RunNo,
    pub id: RunId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DeadReason {
    RetriesUsedUp,
    /// Too many workers died with it.
    Poison,
}

words!(DeadReason: RetriesUsedUp => "retries_used_up", Poison => "poison");

impl DeadReason {
    pub fn in_words(self) -> &'static str {
        match self {
            DeadReason::RetriesUsedUp => "its retries are used up",
            DeadReason::Poison => "too many workers died with it",
        }
    }
}

/// Millionths.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Score(pub i64);

/// Why this worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    pub strategy: Strategy,
    /// The predictor failed or its breaker is open: round-robin stood in.
    pub fallback: bool,
    pub score: Score,
    pub predicted_wait: Micros,
    /// On this worker, model loading included.
    pub predicted_duration: Micros,
    pub confidence_percent: u8,
    /// The model to load before the job starts.
    pub load_model: bool,
    pub reason: Reason,
    /// The best of the others, best first.
    pub losers: Vec<Loser>,
    pub shadow: Option<Shadow>,
    /// What the scores are made of; journals of before it was kept have none.
    pub basis: Option<Basis>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    pub weights: Weights,
    /// Of the chosen worker.
    pub terms: Terms,
    /// The job's priority as a term: the same for every worker.
    pub priority: Score,
    /// Finished jobs behind the predicted duration.
    pub samples: u32,
    /// Workers that were compared.
    pub candidates: u32,
}

/// What a score is made of besides the job's priority: each from 0 to 1, before its weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    pub wait: Score,
    pub load: Score,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loser {
    pub worker: WorkerNo,
    pub score: Score,
    /// When it would have been done; nothing in journals of before it was kept.
    pub finish: Micros,
    pub terms: Terms,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    OnlyWorker,
    LeastLoaded {
        depth: u32,
    },
    ResourceFit {
        free_cpu: u32,
        required_cpu: u32,
        free_memory: u64,
        required_memory: u64,
    },
    DataLocality,
    PreviouslyExecuted,
    SameZone,
    PredictedBest,
    /// A faster worker had room, but its last slots are kept for shorter jobs.
    SparesFastSlots,
    /// Its turn: round-robin, chosen or as fallback.
    NextInTurn,
    StableHash,
    /// A second offer: the first worker was quiet.
    Hedge,
    /// The best of those where its last attempt did not fail.
    NotWhereItFailed,
    /// It may be faster than is known: its class has not run such jobs, or not for long.
    ToLearn,
}

/// What the shadow policy would have done, and how it compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shadow {
    pub worker: WorkerNo,
    pub predicted_finish: Micros,
    /// What the live choice and round-robin predicted.
    pub live_finish: Micros,
    pub round_robin_finish: Micros,
    /// Whom round-robin would have chosen; nothing in journals of before it was kept.
    pub round_robin: Option<WorkerNo>,
}

impl Event {
    /// The job that it is about; a submission is about several.
    pub fn job(&self) -> Option<JobNo> {
        match self {
            Event::Submitted { first, .. } => Some(*first),
            Event::Assigned { job, .. }
            | Event::Started { job, .. }
            | Event::Granted { job, .. }
            | Event::Progressed { job, .. }
            | Event::Completed { job, .. }
            | Event::AttemptFailed { job, .. }
            | Event::Revoked { job, .. }
            | Event::HandedOff { job, .. }
            | Event::Retried { job, .. }
            | Event::Due { job }
            | Event::Escalated { job, .. }
            | Event::DeadLettered { job, .. }
            | Event::Failed { job, .. }
            | Event::Skipped { job, .. }
            | Event::SkippedByKey { job, .. }
            | Event::Cancelled { job, .. }
            | Event::Reopened { job }
            | Event::Pinned { job, .. }
            | Event::PredictorFailed { job, .. } => Some(*job),
            Event::WorkerJoined { .. }
            | Event::WorkerReturned { .. }
            | Event::WorkerReported { .. }
            | Event::WorkerDraining { .. }
            | Event::WorkerUndrained { .. }
            | Event::WorkerLost { .. }
            | Event::WorkerLeft { .. }
            | Event::WorkerSilent { .. }
            | Event::WorkerHeard { .. }
            | Event::ModelLoaded { .. }
            | Event::WorkerInvited { .. }
            | Event::WorkerKeyBound { .. }
            | Event::WorkerKeyRotated { .. }
            | Event::WorkerKeyRevoked { .. }
            | Event::Paused { .. }
            | Event::Unpaused { .. }
            | Event::Configured { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed
            | Event::DriftDetected { .. }
            | Event::Warmed { .. }
            | Event::TermsExtended { .. }
            | Event::ActorNamed { .. }
            | Event::Checkpointed { .. }
            | Event::ClockStepped { .. }
            | Event::Noted { .. } => None,
        }
    }

    /// The worker that it is about, where it is about no job.
    pub fn worker(&self) -> Option<WorkerNo> {
        match self {
            Event::WorkerJoined { worker, .. }
            | Event::WorkerReturned { worker }
            | Event::WorkerReported { worker, .. }
            | Event::WorkerDraining { worker }
            | Event::WorkerUndrained { worker }
            | Event::WorkerLost { worker }
            | Event::WorkerLeft { worker }
            | Event::WorkerSilent { worker }
            | Event::WorkerHeard { worker }
            | Event::ModelLoaded { worker, .. } => Some(*worker),
            _ => None,
        }
    }
}

impl Event {
    /// What else it is told as, before its own name: a job that is dead-lettered has failed.
    pub fn told_before(&self) -> Option<&'static str> {
        match self {
            Event::DeadLettered { job, .. } => {
                let failed = Event::Failed { job: *job, cause: FailureCause::Failed };
                Some(failed.name())
            }
            _ => None,
        }
    }

    /// Every name that it is told by, in this order.
    pub fn told_as(&self) -> impl Iterator<Item = &'static str> {
        self.told_before().into_iter().chain([self.name()])
    }
}

/// Spells the events, each once.
macro_rules! names {
    ($($event:pat => $name:literal,)+) => {
        impl Event {
            /// Every name in the lifecycle stream.
            pub const NAMES: &[&str] = &[$($name),+];

            /// Its name in the lifecycle stream.
            pub fn name(&self) -> &'static str {
                match self {
                    $($event => $name,)+
                }
            }
        }
    };
}

names! {
    Event::Submitted { .. } => "job_submitted",
    Event::Assigned { hedge: false, .. } => "task_assigned",
    Event::Assigned { hedge: true, .. } => "job_hedged",
    Event::Started { .. } => "job_started",
    Event::Granted { .. } => "job_granted",
    Event::Progressed { .. } => "job_progressed",
    Event::Completed { .. } => "job_completed",
    Event::AttemptFailed { .. } => "attempt_failed",
    Event::Revoked { .. } => "attempt_revoked",
    Event::HandedOff { .. } => "job_handed_off",
    Event::Retried { .. } => "job_retried",
    Event::Due { .. } => "job_due",
    Event::Escalated { .. } => "job_escalated",
    Event::DeadLettered { .. } => "job_dead_lettered",
    Event::Failed { .. } => "job_failed",
    Event::Skipped { .. } => "job_skipped",
    Event::SkippedByKey { .. } => "job_skipped_by_key",
    Event::Cancelled { .. } => "job_cancelled",
    Event::Reopened { .. } => "job_reopened",
    Event::Pinned { .. } => "job_pinned",
    Event::WorkerJoined { .. } => "worker_joined",
    Event::WorkerReturned { .. } => "worker_returned",
    Event::WorkerReported { .. } => "worker_reported",
    Event::WorkerDraining { .. } => "worker_draining",
    Event::WorkerUndrained { .. } => "worker_undrained",
    Event::WorkerLost { .. } => "worker_lost",
    Event::WorkerLeft { .. } => "worker_left",
    Event::WorkerSilent { .. } => "worker_silent",
    Event::WorkerHeard { .. } => "worker_heard",
    Event::ModelLoaded { .. } => "model_loaded",
    Event::WorkerInvited { .. } => "worker_invited",
    Event::WorkerKeyBound { .. } => "worker_key_bound",
    Event::WorkerKeyRotated { .. } => "worker_key_rotated",
    Event::WorkerKeyRevoked { .. } => "worker_key_revoked",
    Event::Paused { .. } => "type_paused",
    Event::Unpaused { .. } => "type_unpaused",
    Event::Configured { .. } => "config_changed",
    Event::PredictorFailed { .. } => "predictor_failed",
    Event::BreakerOpened { .. } => "breaker_opened",
    Event::BreakerClosed => "breaker_closed",
    Event::DriftDetected { .. } => "drift_detected",
    Event::Warmed { .. } => "predictions_warmed",
    Event::TermsExtended { .. } => "terms_extended",
    Event::ActorNamed { .. } => "actor_named",
    Event::Checkpointed { .. } => "checkpoint_signed",
    Event::ClockStepped { .. } => "clock_stepped",
    Event::Noted { .. } => "noted",
}
