//! What can be seen of several schedulers.

use bellwether_cluster::MemberId;
use bellwether_core::Engine;
use bellwether_core::model::{Seq, Timestamp};

use super::log::{Mark, Members};

#[derive(Debug)]
pub(crate) enum Sight<'a> {
    /// A majority has voted for it.
    Elected { member: MemberId, term: u64 },
    /// From now on this member acts as if this entry of the log could not be lost.
    TakenForCommitted { member: MemberId, index: u64, mark: Mark },
    /// What was proposed in the epoch `by` behind `after` has been committed, up to `last`.
    RecordCommitted { by: u32, after: Seq, last: Seq },
    /// It begins to decide. `is_past_known` says whether all that can have been committed before is
    /// applied.
    Reigns { member: MemberId, by: u32, is_past_known: bool, engine: &'a Engine, now: Timestamp },
    /// What a member that does not decide knows, and who belongs to the pool at that point of the log.
    Follows { member: MemberId, index: u64, engine: &'a Engine, members: &'a Members },
    /// A process of a worker turns to the leader of an epoch.
    Registers { worker: usize, instance: u64, by: u32 },
    /// Positions behind `after` up to `last` are told to somebody outside, who wants all of them.
    Told { member: MemberId, after: Seq, last: Seq },
    /// A message is taken out of a queue.
    Read { member: MemberId, by: Option<u32> },
    /// The faults have been over for so long that somebody must lead.
    LongAfterHeal { leader: Option<MemberId> },
}
