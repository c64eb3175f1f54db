//! What the scheduler talks about: jobs, runs, attempts, workers, and the units they are measured in.

pub mod actor;
pub mod attempt;
pub mod checkpoint;
pub mod concurrency;
pub mod config;
pub mod excerpt;
pub mod handoff;
pub mod ids;
pub mod job;
pub mod key;
pub mod limits;
pub mod queue;
pub mod sample;
pub mod status;
pub mod table;
pub mod time;
pub mod trace;
pub mod worker;
pub mod worker_key;

pub use actor::{Actor, Actors, KnownActor};
pub use attempt::{Attempt, FailureCause, Phase, RevokeReason};
pub use checkpoint::Checkpoint;
pub use concurrency::{KeyLimit, KeySet, KeyUse, OnLimit};
pub use config::{Config, Strategy};
pub use excerpt::excerpt;
pub use handoff::{Handoff, HandoffSignature, Receiver};
pub use ids::{
    ActorNo, Epoch, JobId, JobNo, MaybeWorker, Name, RunId, RunNo, Seq, Token, WorkerId, WorkerNo,
};
pub use job::{
    AcceptedJob, Aside, Escalation, Extras, Guarantee, JobSpec, OnFailure, Priority, Requirements,
    Resources, Settlement, Submission, Target,
};
pub use key::{KeyFound, KeysSeen, MovedKey, TakenKey, is_made_by_scheduler};
pub use sample::Sample;
pub use status::JobStatus;
pub use time::{Micros, Timestamp, WallAhead};
pub use trace::TraceParent;
pub use worker::{Heartbeat, HeldAttempt, WorkerSpec, WorkerStatus};
pub use worker_key::{
    Admission, Invitation, KeyBinding, KeyPolicy, KeyStanding, KeyTerms, NAMESPACE_DEFAULT, Ticket,
    WorkerKey,
};
