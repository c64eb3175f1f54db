//! One file per promise of the scheduler. Each watches what happens and keeps only what it needs
//! to judge the next thing.

pub(crate) mod acked_is_kept;
pub(crate) mod at_most_one_dispatch;
mod attempts_bounded;
pub(crate) mod cancelled_never_succeeds;
mod damage_is_never_silent;
pub(crate) mod dependencies_first;
mod deposed_is_silent;
pub(crate) mod durable_before_visible;
mod effects_follow_events;
pub(crate) mod exactly_one_result;
mod forged_or_replayed_changes_nothing;
mod heard;
mod hedge_one_winner;
mod held_goes_on;
mod idle_is_used;
mod key_limit_holds;
mod limits_hold;
mod memory_bounded;
mod no_loss_by_own_pause;
mod one_id_one_job;
pub(crate) mod one_key_one_job;
mod quiet_moves_on;
mod refused_never_happens;
mod same_commands_same_events;
mod same_journal_same_hash;
mod settings_are_kept;
mod snapshot_equals_replay;
mod stale_token_refused;
pub(crate) mod terminal_after_heal;
pub(crate) mod terminal_is_absorbing;
mod timers_follow_monotonic_time;
pub(crate) mod tokens_increase;

use std::fmt::Debug;

use bellwether_core::model::Config;

use super::court::{Observation, View};

/// A promise that must hold at every step.
pub(crate) trait Invariant: Debug {
    fn name(&self) -> &'static str;

    /// Judges what was seen, given what the journal held before it.
    ///
    /// # Errors
    /// The promise is broken; the text says by what.
    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String>;
}

pub(crate) fn all(config: &Config) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(deposed_is_silent::DeposedIsSilent::default()),
        Box::new(refused_never_happens::RefusedNeverHappens::default()),
        Box::new(settings_are_kept::SettingsAreKept::new(config)),
        Box::new(durable_before_visible::DurableBeforeVisible),
        Box::new(acked_is_kept::AckedIsKept::default()),
        Box::new(one_key_one_job::OneKeyOneJob::default()),
        Box::new(one_id_one_job::OneIdOneJob::default()),
        Box::new(exactly_one_result::ExactlyOneResult::default()),
        Box::new(at_most_one_dispatch::AtMostOneDispatch::default()),
        Box::new(stale_token_refused::StaleTokenRefused),
        Box::new(forged_or_replayed_changes_nothing::ForgedOrReplayedChangesNothing),
        Box::new(tokens_increase::TokensIncrease::default()),
        Box::new(dependencies_first::DependenciesFirst::default()),
        Box::new(cancelled_never_succeeds::CancelledNeverSucceeds::default()),
        Box::new(terminal_is_absorbing::TerminalIsAbsorbing::default()),
        Box::new(held_goes_on::HeldGoesOn),
        Box::new(effects_follow_events::EffectsFollowEvents::default()),
        Box::new(limits_hold::LimitsHold),
        Box::new(key_limit_holds::KeyLimitHolds),
        Box::new(hedge_one_winner::HedgeOneWinner::default()),
        Box::new(attempts_bounded::AttemptsBounded),
        Box::new(memory_bounded::MemoryBounded),
        Box::new(idle_is_used::IdleIsUsed),
        Box::new(quiet_moves_on::QuietMovesOn::default()),
        Box::new(same_commands_same_events::SameCommandsSameEvents),
        Box::new(same_journal_same_hash::SameJournalSameHash),
        Box::new(snapshot_equals_replay::SnapshotEqualsReplay::default()),
        Box::new(no_loss_by_own_pause::NoLossByOwnPause::default()),
        Box::new(timers_follow_monotonic_time::TimersFollowMonotonicTime::default()),
        Box::new(damage_is_never_silent::DamageIsNeverSilent),
        Box::new(terminal_after_heal::TerminalAfterHeal),
    ]
}
