//! What is due among several schedulers.

use bellwether_cluster::MemberId;

use super::replica::Message;
use crate::faults::due::Letter;

#[derive(Debug, Clone)]
pub(crate) enum AmongDue {
    Member {
        member: MemberId,
        life: u32,
        due: MemberDue,
    },
    /// A message of another member; it reaches whatever process is there.
    Hears {
        member: MemberId,
        from: MemberId,
        message: Message,
    },
    /// A process starts on what its disk holds.
    Starts {
        member: MemberId,
    },
    /// One that was stopped goes on.
    Continues {
        member: MemberId,
        life: u32,
    },
    /// Its disk is as fast as before.
    DiskRecovers {
        member: MemberId,
    },
    Strikes,
    /// Everybody reaches everybody again.
    NetworkHeals {
        cut: u64,
    },
    LongAfterHeal,
}

/// What a process has to do, as long as it lives.
#[derive(Debug, Clone)]
pub(crate) enum MemberDue {
    Reads(Box<Letter>),
    Synced { write: u64 },
    TakesIn,
    Wakes,
}
