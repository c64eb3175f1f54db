//! One file per promise of several schedulers; those of one hold among several, too.

mod committed_is_kept;
mod decides_after_barrier;
mod deposed_is_silent;
mod followers_agree;
mod leader_after_heal;
mod one_committer_per_epoch;
mod one_reader_per_queue;
mod predictions_survive;
mod settings_survive;
mod sinks_resume_without_gap;
mod time_goes_on;
mod unknown_is_not_no;
mod workers_never_go_back;

use bellwether_core::model::Config;

use crate::faults::court::NEVER_PANICS;
use crate::faults::invariants::{self as one, Invariant};

/// The names of all.
pub fn names() -> Vec<&'static str> {
    let watching = all(&Config::default());
    watching.iter().map(|invariant| invariant.name()).chain([NEVER_PANICS]).collect()
}

/// `file` is what every machine's file says.
pub(crate) fn all(file: &Config) -> Vec<Box<dyn Invariant>> {
    vec![
        Box::new(one_committer_per_epoch::OneCommitterPerEpoch::default()),
        Box::new(committed_is_kept::CommittedIsKept::default()),
        Box::new(followers_agree::FollowersAgree::default()),
        Box::new(decides_after_barrier::DecidesAfterBarrier),
        Box::new(deposed_is_silent::DeposedIsSilent::default()),
        Box::new(unknown_is_not_no::UnknownIsNotNo::default()),
        Box::new(workers_never_go_back::WorkersNeverGoBack::default()),
        Box::new(settings_survive::SettingsSurvive::new(file)),
        Box::new(predictions_survive::PredictionsSurvive),
        Box::new(leader_after_heal::LeaderAfterHeal),
        Box::new(sinks_resume_without_gap::SinksResumeWithoutGap::default()),
        Box::new(one_reader_per_queue::OneReaderPerQueue::default()),
        Box::new(time_goes_on::TimeGoesOn),
        Box::new(one::durable_before_visible::DurableBeforeVisible),
        Box::new(one::acked_is_kept::AckedIsKept::default()),
        Box::new(one::one_key_one_job::OneKeyOneJob::default()),
        Box::new(one::exactly_one_result::ExactlyOneResult::default()),
        Box::new(one::at_most_one_dispatch::AtMostOneDispatch::default()),
        Box::new(one::tokens_increase::TokensIncrease::default()),
        Box::new(one::dependencies_first::DependenciesFirst::default()),
        Box::new(one::terminal_is_absorbing::TerminalIsAbsorbing::default()),
        Box::new(one::terminal_after_heal::TerminalAfterHeal),
    ]
}
