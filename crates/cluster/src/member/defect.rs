//! Known bugs, to be switched on one at a time: the simulator must catch each.

use bellwether_core::listed;

listed! {
    /// A known bug of a member.
    pub enum Defect {
        /// A reign begins before what was committed before is applied.
        DecidesBeforeBarrier,
        /// A lease counts from when it is confirmed, not from when it was asked for.
        LeaseCountsFromAnswer,
        /// A vote is given although another leader has been promised that it would not be.
        VotesAgainstItsPromise,
        /// Whoever was not elected does not stand again.
        StandsOnce,
    }
}
