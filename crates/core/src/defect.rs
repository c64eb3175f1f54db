//! Known bugs, to be switched on one at a time: the simulator must catch each.

crate::listed! {
    /// A known bug of the engine.
    pub enum Defect {
        /// Reports with a stale token are taken for the present attempt.
        SkipFence,
        /// One dependency of a job is not waited for.
        ForgetDependency,
        /// The choice depends on something that is not state.
        UnstableOrder,
        HedgeAtMostOnce,
        /// A second claim is granted too.
        SecondGrant,
        IgnoreHedgeBudget,
        /// Past the budget of hedges an offer stays where nobody answers it.
        LeaveQuietOffers,
        /// A worker that answers nothing is given more.
        OfferToSilent,
        /// A cancelled job goes on if it has been placed.
        KeepCancelledRunning,
        /// Some retried jobs never come back.
        LoseRetry,
        /// Jobs that kill workers are retried for ever.
        CountNoCrashes,
        /// More jobs are sent to a worker than it has room for.
        OverfillWorker,
        ForgetIdempotencyKey,
        /// Keys leave the memory although nobody else keeps them.
        ForgetKeysEarly,
        /// An id is free again as soon as its job is forgotten.
        ForgetFormerIds,
        /// A late result revives a job that has ended.
        ReopenOnLateResult,
        /// A restored snapshot has no timers.
        SnapshotForgetsTimers,
        /// What changes while a snapshot is taken gets into it.
        SnapshotOfMovingState,
        IgnoreBackpressure,
        /// A worker that comes back is taken for a new one.
        ForgetReturningWorker,
        /// Jobs are placed only now and then.
        LeaveWorkersIdle,
        /// A failure is dated back to a moment before others.
        BackdatesFailures,
        /// A handoff moves a job although its time has passed.
        IgnoresHandoffExpiry,
        /// A handoff that was signed for one attempt moves another.
        HandsOffAnyJob,
        /// A job that was handed off goes to anybody.
        IgnoresReceiver,
        /// A second offer takes nothing of the job's keys into account.
        HedgePastKeyLimit,
        /// Keys that are there keep the limit that they came with, whatever the settings say.
        KeepsOldKeyLimits,
    }
}
