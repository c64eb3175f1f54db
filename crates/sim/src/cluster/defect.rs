//! Known bugs that can be switched on among several schedulers, to show that the simulator catches them.
//!
//! Not here, because the model can't express them: an epoch that is checked outside the script and a
//! lost tail of Redis that is ignored, which are bugs of journals that schedulers share (the tests of
//! `crates/cluster/tests/shared` try those on real servers); and a transfer to a member that is behind,
//! which costs a round of votes and breaks no promise.

use bellwether_cluster::member::Defect as MemberDefect;
use bellwether_core::listed;
use bellwether_host::Defect as HostDefect;

use crate::faults::Defect;

listed! {
    /// A known bug of the log.
    pub enum LogDefect {
        /// An entry counts as committed once the leader's own disk has it.
        CommitsAlone,
        /// A vote is given before it is durable.
        VoteNotSynced,
        /// Entries are acknowledged before they are durable.
        AppendAcknowledgedBeforeSync,
        /// What a message does not mention is cut off, whether it is committed or not.
        TruncatesCommitted,
        /// Those who do not vote count for a majority.
        LearnersCounted,
        /// A member whose disk was lost comes back under its number.
        NumberReused,
        /// Who takes over a state does not take over who belongs to the pool.
        SnapshotWithoutMembers,
    }
}

listed! {
    /// A known bug of what surrounds the host: the server's edges and the workers' library.
    pub enum SeatDefect {
        /// The settings of the local file are applied with every reign.
        ConfigurationFlaps,
        /// A worker turns to whoever says that it leads.
        WorkerIgnoresEpoch,
        /// Every scheduler reads the queue, not the leader alone.
        FollowerReadsQueue,
        /// How far events were told outside is known to one machine alone.
        PositionStaysLocal,
    }
}

/// Every bug that can be planted among several, with the invariants that may catch it.
pub fn planted() -> Vec<(Defect, &'static [&'static str])> {
    let log = LogDefect::ALL.iter().map(|defect| (Defect::Log(*defect), of_log(*defect)));
    let seat = SeatDefect::ALL.iter().map(|defect| (Defect::Seat(*defect), of_seat(*defect)));
    let member =
        MemberDefect::ALL.iter().map(|defect| (Defect::Member(*defect), of_member(*defect)));
    let host = OF_HOST.iter().map(|(defect, names)| (Defect::Host(*defect), *names));
    log.chain(seat).chain(member).chain(host).collect()
}

const COMMITTED: &[&str] =
    &["committed_is_kept", "acked_is_kept", "followers_agree", "never_panics"];

fn of_log(defect: LogDefect) -> &'static [&'static str] {
    match defect {
        // Who has forgotten a vote has forgotten what it promised with it.
        LogDefect::VoteNotSynced => &["one_committer_per_epoch", "one_reader_per_queue"],
        LogDefect::SnapshotWithoutMembers => &["followers_agree"],
        LogDefect::CommitsAlone
        | LogDefect::AppendAcknowledgedBeforeSync
        | LogDefect::TruncatesCommitted
        | LogDefect::LearnersCounted
        | LogDefect::NumberReused => COMMITTED,
    }
}

fn of_seat(defect: SeatDefect) -> &'static [&'static str] {
    match defect {
        SeatDefect::ConfigurationFlaps => &["settings_survive"],
        SeatDefect::WorkerIgnoresEpoch => &["workers_never_go_back"],
        SeatDefect::FollowerReadsQueue => &["one_reader_per_queue"],
        SeatDefect::PositionStaysLocal => &["sinks_resume_without_gap"],
    }
}

fn of_member(defect: MemberDefect) -> &'static [&'static str] {
    match defect {
        MemberDefect::DecidesBeforeBarrier => &["decides_after_barrier"],
        MemberDefect::LeaseCountsFromAnswer | MemberDefect::VotesAgainstItsPromise => {
            &["deposed_is_silent", "one_reader_per_queue"]
        }
        MemberDefect::StandsOnce => &["leader_after_heal", "terminal_after_heal"],
    }
}

/// Those of the host that matter among several.
const OF_HOST: &[(HostDefect, &[&str])] = &[
    (HostDefect::KeepsSpeculation, &["followers_agree"]),
    (HostDefect::TellsUnknownAsRefused, &["unknown_is_not_no"]),
    (HostDefect::AcknowledgeBeforeDurable, &["durable_before_visible", "acked_is_kept"]),
    (HostDefect::ReleaseBeforeDurable, &["durable_before_visible"]),
    (HostDefect::LeaseIgnoresPause, &["deposed_is_silent"]),
    // It never follows again, so that it can't lead either.
    (
        HostDefect::AnswersWhenDeposed,
        &["deposed_is_silent", "durable_before_visible", "leader_after_heal"],
    ),
    (HostDefect::ForgetsPredictions, &["predictions_survive", "followers_agree"]),
    (HostDefect::ClockGoesBack, &["time_goes_on", "tokens_increase"]),
];
