//! What has been committed, as somebody knows who sees all machines at once.
//!
//! Whatever a member first takes for committed is: others may rely on it from then on. Whether all
//! members agree with it is for the invariants to say.

use bellwether_cluster::MemberId;
use bellwether_journal::Head;

use super::log::{Content, Item, Members};
use super::sight::Sight;
use crate::faults::court::Observation;
use crate::faults::stage::Stage;

#[derive(Debug)]
pub(crate) struct Truth {
    pub(crate) index: u64,
    pub(crate) head: Head,
    pub(crate) members: Members,
}

impl Truth {
    pub(crate) fn new(members: Members) -> Truth {
        Truth { index: 0, head: Head::GENESIS, members }
    }

    /// A member takes this entry for committed.
    pub(crate) fn taken(&mut self, stage: &mut Stage, member: MemberId, index: u64, item: &Item) {
        let mark = item.mark();
        stage.see(Observation::Among(Sight::TakenForCommitted { member, index, mark }));
        if index != self.index + 1 {
            return;
        }
        self.index = index;
        match &item.content {
            Content::Blank => {}
            Content::Members(members) => self.members = Members::clone(members),
            Content::Record(record) => {
                // What does not follow is ignored by everybody.
                if record.prior != self.head.chain {
                    stage.count("record_ignored");
                    return;
                }
                let after = self.head.seq;
                self.head = record.head();
                for entry in &record.entries {
                    stage.note(|| format!("  {} {:?}", entry.seq, entry.event));
                    stage.see(Observation::Committed { entry });
                }
                stage.see(Observation::BatchCommitted);
                let (by, last) = (short_epoch(item.term, item.by), record.head().seq);
                stage.see(Observation::Among(Sight::RecordCommitted { by, after, last }));
            }
        }
    }
}

/// An epoch in few bits, in the order of epochs.
pub(crate) fn short_epoch(term: u64, by: MemberId) -> u32 {
    (term as u32) << 8 | u32::from(by.0)
}
