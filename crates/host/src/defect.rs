//! Known bugs, to be switched on one at a time: the simulator must catch each.

use bellwether_core::listed;

listed! {
    /// A known bug of the host.
    pub enum Defect {
        /// Effects leave before their events are durable.
        ReleaseBeforeDurable,
        /// Askers hear of their success before it is durable.
        AcknowledgeBeforeDurable,
        /// A failed append is taken for a good one.
        IgnoreAppendFailure,
        /// A snapshot is made of what is not durable yet.
        SnapshotBeforeDurable,
        /// What an append left open is told as if nothing had been written.
        TellsUnknownAsRefused,
        /// A scheduler that has lost its journal goes on answering.
        AnswersWhenDeposed,
        /// A full disk takes the settings back to what they were at the start.
        ForgetsSettings,
        /// Some effects are forgotten on their way.
        LosesEffects,
        /// The second batch in flight is taken for durable with the first.
        ReleasesOutOfOrder,
        /// A scheduler that was away takes that for the silence of all others.
        TakesAbsenceForSilence,
        /// Whether the reign still holds is judged by the time of the round before.
        LeaseIgnoresPause,
        /// Spans follow the wall clock.
        FollowsWallClock,
        /// One that was deposed follows with what it had decided and not committed.
        KeepsSpeculation,
        /// A reign begins at its own wall clock, wherever the journal's time is.
        ClockGoesBack,
        /// A reign begins with what this scheduler has seen itself, and predicts from that.
        ForgetsPredictions,
    }
}
