//! Why a wish was refused. Each message names the culprit and the way out.

use crate::model::config::ConfigError;
use crate::model::{JobId, JobNo, Micros, Name, RunId, Token, WorkerId, WorkerKey};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    #[error("a submission has no jobs; send at least one")]
    EmptySubmission,
    #[error("the run has {given} jobs; at most {max} are allowed, so split it")]
    RunTooLarge { given: usize, max: usize },
    #[error(
        "job id {id} exists already; choose another, or set an idempotency key to submit safely twice"
    )]
    DuplicateJob { id: JobId },
    #[error(
        "job {job} has the idempotency key {key}, which stands for another job already, or for one with another type or payload; send the same jobs again or choose other keys"
    )]
    KeyTaken { job: JobId, key: Name },
    #[error("run id {id} exists already; choose another")]
    DuplicateRun { id: RunId },
    #[error(
        "job {job} depends on {dependency}, which is neither in this run nor known; submit it first"
    )]
    UnknownDependency { job: JobId, dependency: JobId },
    #[error("job {job} depends on itself; remove that dependency")]
    SelfDependency { job: JobId },
    #[error("job {job} names its dependency {dependency} twice; name it once")]
    DuplicateDependency { job: JobId, dependency: JobId },
    #[error("job {job} has {given} {what}; at most {max} are allowed")]
    TooMany { job: JobId, what: &'static str, given: usize, max: usize },
    #[error("the dependencies form a cycle: {}; remove one of them", cycle.iter().map(JobId::as_str).collect::<Vec<_>>().join(" -> "))]
    Cycle { cycle: Vec<JobId> },
    #[error("job {job} asks for {given} retries; at most {max} are allowed (max_retry)")]
    RetryAboveMax { job: JobId, given: u32, max: u32 },
    #[error("job {job} has a timeout of 0; give it at least one second or leave it out")]
    ZeroTimeout { job: JobId },
    #[error(
        "job {job} has a payload of {given} bytes; at most {max} are allowed (payload_bytes_max)"
    )]
    PayloadTooLarge { job: JobId, given: usize, max: u64 },
    #[error("the queue is full ({live} of {max} {what}); retry in {retry_after} or raise {key}")]
    QueueFull { what: &'static str, key: &'static str, live: u64, max: u64, retry_after: Micros },

    #[error(
        "no more idempotency keys and ids can be kept for as long as is promised (idempotency_for); \
         retry in {retry_after}, raise idempotency_disk_max, or send the job without a key and an id"
    )]
    KeysFull { retry_after: Micros },

    #[error("job {id} is not known; it may have ended and left the queue, see its history")]
    UnknownJob { id: JobId },
    #[error("job {id} has ended ({state}); one that did not complete can be retried")]
    AlreadyEnded { id: JobId, state: &'static str },
    #[error(
        "job {id} is {state}; only a job that failed, was cancelled or dead-lettered can be retried"
    )]
    NotRetryable { id: JobId, state: &'static str },
    #[error(
        "job {id} is to run at most once and may have run; retry it with force if it may run again"
    )]
    NeedsForce { id: JobId },
    #[error("job {id} depends on {dependency}, which did not complete; retry that first")]
    DependencyFailed { id: JobId, dependency: JobId },
    #[error("job {id} is on worker {worker}; cancel it or let it end before you pin it")]
    AlreadyPlaced { id: JobId, worker: WorkerId },

    #[error("worker {id} is not registered; register first")]
    UnknownWorker { id: WorkerId },
    #[error("worker {id} offers {given} slots; it must be from 1 to {max}")]
    BadSlots { id: WorkerId, given: u32, max: u32 },
    #[error("worker {id} lists {given} {what}; at most {max} are allowed")]
    TooManyLabels { id: WorkerId, what: &'static str, given: usize, max: usize },
    #[error(
        "{max} things are noted for the next leader already; configure fewer queues and webhooks"
    )]
    TooManyNotes { max: usize },
    #[error("worker {id} is bound to a key; sign with it, or choose another id")]
    KeyMissing { id: WorkerId },
    #[error(
        "worker {id} is bound to another key than {key}; choose another id, or let an operator run `bellwether workers approve {id} {key}`"
    )]
    OtherKey { id: WorkerId, key: WorkerKey },
    #[error(
        "worker {id} with the key {key} is not approved; let an operator run `bellwether workers approve {id} {key}` or `bellwether workers invite {id}`"
    )]
    KeyNotApproved { id: WorkerId, key: WorkerKey },
    #[error(
        "worker {id} has no key, and workers must be approved here; start it with one (worker_keys)"
    )]
    KeyRequired { id: WorkerId },
    #[error("the key of worker {id} was revoked; let an operator approve one anew")]
    KeyRevoked { id: WorkerId },
    #[error("no key is bound to worker {id}; see `bellwether workers keys`")]
    UnknownKey { id: WorkerId },
    #[error(
        "the ticket of worker {id} is not open: it was used, has expired, or is for another id"
    )]
    TicketClosed { id: WorkerId },
    #[error(
        "worker {id} claims the {what} {name}, which its key does not carry; let an operator approve it with that {what}"
    )]
    BeyondKey { id: WorkerId, what: &'static str, name: String },
    #[error("{given} {what} are remembered already, which are all that can be; revoke some")]
    TooManyKeys { what: &'static str, given: usize },
    #[error(
        "the rotation of worker {id} was signed before the last change of its key; sign it anew"
    )]
    RotationOutdated { id: WorkerId },
    #[error("job {job} is at_most_once: it can't be dispatched a second time, so not handed off")]
    DispatchedOnce { job: JobNo },
    #[error(
        "the handoff was signed for job {signed_for} with token {signed_token}, not for job {job} as it is held now"
    )]
    HandoffElsewhere { job: JobNo, signed_for: JobId, signed_token: Token },
    #[error("the handoff of job {job} has expired; sign it anew")]
    HandoffExpired { job: JobNo },
    #[error("the handoff of job {job} was signed for another payload than the job has")]
    OtherPayload { job: JobNo },
    #[error(
        "the handoff of job {job} does not follow the one before it; sign the chain as offered"
    )]
    HandoffChain { job: JobNo },
    #[error("the receiver {id} is not known; name a worker that is registered, or a role")]
    UnknownReceiver { id: WorkerId },
    #[error("worker {id} hands a job to itself; name another receiver")]
    HandoffToItself { id: WorkerId },
    #[error(
        "job {job} was handed off {max} times, which is all that is allowed; run it or fail it"
    )]
    TooManyHandoffs { job: JobNo, max: usize },
    #[error(
        "job {job} has used up its retries while this attempt ran beside another; run it or fail it"
    )]
    HandoffSpent { job: JobNo },
    #[error(
        "worker {worker} does not hold job {job} with token {token}; the attempt was taken away, drop it"
    )]
    StaleToken { worker: WorkerId, job: JobNo, token: Token },
    #[error("job {job} has a result with another hash already; this one is refused")]
    OtherResult { job: JobNo },
    #[error("job {job} is exactly_once: claim it and wait for the grant before you start")]
    ClaimFirst { job: JobNo },
    #[error("job {job} is not exactly_once: acknowledge it instead of claiming it")]
    NotClaimable { job: JobNo },

    #[error("the configuration has version {version}, not {expected}; read it again")]
    ConfigChanged { version: u64, expected: u64 },
    #[error(transparent)]
    Config(#[from] ConfigError),
}
