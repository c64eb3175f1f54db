//! Known bugs that can be switched on, to show that the simulator catches them.

use bellwether_cluster::member::Defect as MemberDefect;
use bellwether_core::{Engine, listed};
use bellwether_host::{Defect as HostDefect, Edge, Host};

use crate::cluster::{LogDefect, SeatDefect};

listed! {
    /// A known bug of how a process reads its disk.
    pub enum DiskDefect {
        /// A half-written record is taken for a whole one.
        SkipTornTailCheck,
        /// Recovery applies the last event once more.
        ReplayTwice,
        /// Recovery stops one event short.
        ReplayShort,
        /// Records are read without a look at their hashes.
        SkipChainCheck,
    }
}

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    Disk(DiskDefect),
    Host(HostDefect),
    /// These three are of several schedulers.
    Member(MemberDefect),
    Log(LogDefect),
    Seat(SeatDefect),
    #[cfg(feature = "defects")]
    Core(bellwether_core::Defect),
}

impl Defect {
    /// Every one of a scheduler that is alone.
    #[cfg(feature = "defects")]
    pub fn all() -> impl Iterator<Item = Defect> {
        let disk = DiskDefect::ALL.iter().copied().map(Defect::Disk);
        let alone = |defect: &HostDefect| {
            !matches!(
                defect,
                HostDefect::KeepsSpeculation
                    | HostDefect::ClockGoesBack
                    | HostDefect::ForgetsPredictions
            )
        };
        let host = HostDefect::ALL.iter().copied().filter(alone).map(Defect::Host);
        let core = bellwether_core::Defect::ALL.iter().copied().map(Defect::Core);
        disk.chain(host).chain(core)
    }

    /// The invariants that may catch it: those that it breaks.
    #[cfg(feature = "defects")]
    pub fn caught_by(self) -> &'static [&'static str] {
        use bellwether_core::Defect as Core;
        match self {
            Defect::Disk(defect) => match defect {
                // What was acknowledged behind the torn record is gone.
                DiskDefect::SkipTornTailCheck => {
                    &["same_journal_same_hash", "never_panics", "acked_is_kept"]
                }
                DiskDefect::ReplayTwice => &["never_panics"],
                DiskDefect::ReplayShort => &["same_journal_same_hash", "acked_is_kept"],
                DiskDefect::SkipChainCheck => &["damage_is_never_silent"],
            },
            Defect::Host(defect) => match defect {
                HostDefect::ReleaseBeforeDurable => &["durable_before_visible"],
                HostDefect::AcknowledgeBeforeDurable => &["durable_before_visible"],
                HostDefect::IgnoreAppendFailure => &["durable_before_visible", "acked_is_kept"],
                HostDefect::SnapshotBeforeDurable => &["snapshot_equals_replay"],
                HostDefect::TellsUnknownAsRefused => &["refused_never_happens"],
                // Who does not step down keeps workers and clients from whoever reigns.
                // And its engine goes on without the journal.
                HostDefect::AnswersWhenDeposed => {
                    &["deposed_is_silent", "terminal_after_heal", "same_journal_same_hash"]
                }
                HostDefect::ForgetsSettings => &["settings_are_kept"],
                HostDefect::LosesEffects => &["effects_follow_events"],
                HostDefect::ReleasesOutOfOrder => &["durable_before_visible"],
                HostDefect::LeaseIgnoresPause => &["deposed_is_silent"],
                HostDefect::TakesAbsenceForSilence => &["no_loss_by_own_pause"],
                HostDefect::FollowsWallClock => {
                    &["timers_follow_monotonic_time", "no_loss_by_own_pause"]
                }
                // Caught among several.
                HostDefect::KeepsSpeculation
                | HostDefect::ClockGoesBack
                | HostDefect::ForgetsPredictions => &[],
            },
            Defect::Member(_) | Defect::Log(_) | Defect::Seat(_) => &[],
            Defect::Core(defect) => match defect {
                Core::SkipFence => &["stale_token_refused", "exactly_one_result"],
                Core::ForgetDependency => &["dependencies_first"],
                Core::UnstableOrder => &["same_commands_same_events"],
                Core::HedgeAtMostOnce => &["at_most_one_dispatch"],
                Core::SecondGrant => &["exactly_one_result", "hedge_one_winner"],
                Core::IgnoreHedgeBudget => &["hedge_one_winner"],
                Core::LeaveQuietOffers => &["quiet_moves_on"],
                Core::OfferToSilent => &["limits_hold"],
                Core::KeepCancelledRunning => &["cancelled_never_succeeds"],
                Core::LoseRetry => &["terminal_after_heal", "snapshot_equals_replay"],
                Core::CountNoCrashes => &["attempts_bounded"],
                Core::OverfillWorker => &["limits_hold"],
                Core::ForgetKeysEarly => &["one_key_one_job", "one_id_one_job"],
                Core::ForgetFormerIds => &["one_id_one_job"],
                Core::ForgetIdempotencyKey => &["one_key_one_job"],
                Core::ReopenOnLateResult => &["stale_token_refused", "terminal_is_absorbing"],
                Core::SnapshotForgetsTimers => &["snapshot_equals_replay"],
                Core::SnapshotOfMovingState => &["snapshot_equals_replay"],
                Core::IgnoreBackpressure => &["memory_bounded"],
                Core::ForgetReturningWorker => &["held_goes_on"],
                Core::LeaveWorkersIdle => &["idle_is_used"],
                Core::BackdatesFailures => &["tokens_increase"],
                Core::IgnoresHandoffExpiry | Core::HandsOffAnyJob | Core::IgnoresReceiver => {
                    &["forged_or_replayed_changes_nothing"]
                }
                Core::HedgePastKeyLimit | Core::KeepsOldKeyLimits => &["key_limit_holds"],
            },
        }
    }

    /// Switches a bug of the engine on in this engine; the others are not its business.
    #[cfg(feature = "defects")]
    pub(crate) fn plant(defect: Option<Defect>, engine: &mut Engine) {
        if let Some(Defect::Core(defect)) = defect {
            engine.plant(defect);
        }
    }

    #[cfg(not(feature = "defects"))]
    pub(crate) fn plant(_: Option<Defect>, _: &mut Engine) {}

    pub(crate) fn plant_in_host<E: Edge>(defect: Option<Defect>, host: &mut Host<E>) {
        if let Some(Defect::Host(defect)) = defect {
            host.plant(defect);
        }
    }
}
