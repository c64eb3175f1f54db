//! Takes in what others append, and stands when nobody leads.

use std::time::Instant;

use bellwether_core::model::Seq;
use bellwether_journal::shared::{SharedError, Sight};
use bellwether_journal::{AppendError, Head, OpenError, ReadError, Recorder};

use super::reign::ReignJournal;
use super::renewal::Renewal;
use super::upload::Uploads;
use super::{Reigning, SharedCluster, locked};
use crate::clock;
use crate::door::{ClusterError, Leader, MemberId, News};
use bellwether_journal::Lease;

/// Taken in at once.
const READ_BYTES_MAX: usize = 4 << 20;
/// Records of the own copy that are told at once.
const TELL_RECORDS_MAX: usize = 256;

/// Why there is nothing new to tell.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It may pass.
    Passing(String),
    /// Acknowledged records are gone.
    Lost(String),
}

impl SharedCluster {
    /// One look at the log, and what follows from it.
    pub(super) fn take_in(&mut self) -> Result<(), Trouble> {
        let mine = locked(&self.mirror).head();
        if self.position.seq < mine.seq {
            return self.tell_from_mirror();
        }
        let mut sight = self.log.look()?;
        compare(mine, sight.head)?;
        // A reign of an earlier life of this member is over, whatever its lease says.
        sight.leader = sight.leader.filter(|(leader, _)| leader.member != self.me.member);
        self.note_leader(&sight);
        if sight.base.seq > mine.seq {
            return self.start_over();
        }
        if sight.head.seq > mine.seq {
            return self.read_on();
        }
        self.forget_before(sight.base.seq.next());
        if sight.leader.is_none() && self.may_stand() {
            return self.stand();
        }
        Ok(())
    }

    /// What this machine has and the scheduler does not know yet.
    fn tell_from_mirror(&mut self) -> Result<(), Trouble> {
        let reader = locked(&self.mirror).reader();
        for record in reader.read(self.position.seq.next())?.take(TELL_RECORDS_MAX) {
            let record = record?;
            self.position = record.head();
            self.news.push_back(News::Committed(record));
        }
        Ok(())
    }

    fn note_leader(&mut self, sight: &Sight) {
        self.epoch = self.epoch.max(sight.epoch);
        let leader = sight.leader.as_ref().map(|(candidate, _)| Leader {
            id: MemberId(candidate.member),
            epoch: sight.epoch,
            grpc: candidate.grpc.clone(),
            http: candidate.http.clone(),
        });
        self.lease_left = sight.leader.as_ref().map(|(_, left)| *left);
        if leader.is_some() {
            // Another leads: whoever has resigned need let nobody go first any more.
            self.stands_from = Instant::now();
        }
        self.tell_leader(leader);
    }

    fn tell_leader(&mut self, leader: Option<Leader>) {
        if self.leader != leader {
            self.leader.clone_from(&leader);
            self.news.push_back(News::Leader(leader));
        }
    }

    /// Records behind the own copy: verified, kept here, and told.
    fn read_on(&mut self) -> Result<(), Trouble> {
        let mut head = locked(&self.mirror).head();
        let records = self.log.read(head.seq, READ_BYTES_MAX)?;
        if records.is_empty() {
            return self.missing(head, "what follows is not there".to_owned());
        }
        for raw in records {
            let record = match raw.decode(head) {
                Ok(record) => record,
                Err(damage) => return self.missing(head, damage.flaw.to_string()),
            };
            locked(&self.mirror).append(&raw)?;
            head = record.head();
            if head.seq > self.position.seq {
                self.position = head;
                self.news.push_back(News::Committed(record));
            }
        }
        Ok(())
    }

    /// What follows was truncated meanwhile, or else is lost.
    fn missing(&mut self, mine: Head, why: String) -> Result<(), Trouble> {
        if self.log.look()?.base.seq > mine.seq {
            return self.start_over();
        }
        Err(Trouble::Lost(format!("behind position {}, which was applied here: {why}", mine.seq)))
    }

    /// The records that follow are no longer kept; a snapshot stands for them.
    fn start_over(&mut self) -> Result<(), Trouble> {
        let mine = locked(&self.mirror).head();
        let Some(snapshot) = self.log.load_snapshot()? else {
            return Err(Trouble::Lost("no snapshot stands for what was truncated".to_owned()));
        };
        if snapshot.head.seq <= mine.seq {
            return Err(Trouble::Lost(format!(
                "the snapshot is of position {}, and the records behind it are gone",
                snapshot.head.seq
            )));
        }
        locked(&self.mirror).start_over(&snapshot)?;
        self.position = snapshot.head;
        self.news.push_back(News::Behind(snapshot));
        Ok(())
    }

    /// Keeps no more here than the leader keeps there, as soon as a snapshot here stands for it.
    fn forget_before(&mut self, before: Seq) {
        if before <= self.forgotten {
            return;
        }
        let mut mirror = locked(&self.mirror);
        let stands_for = mirror.snapshots().head();
        if stands_for.is_ok_and(|head| head.is_some_and(|head| head.seq.next() >= before))
            && mirror.truncate_before(before).is_ok()
        {
            self.forgotten = before;
        }
    }

    /// Asks to lead, and if it may takes in what was appended up to that moment.
    fn stand(&mut self) -> Result<(), Trouble> {
        let asked = clock::now();
        let Some((epoch, head)) = self.log.accede(&self.me, self.epoch, self.options.lease)? else {
            return Ok(());
        };
        let lease = Lease::until(self.options.end_of_lease(asked));
        let renewal = Renewal::start(
            std::sync::Arc::clone(&self.connect),
            epoch,
            lease.clone(),
            self.options,
        )
        .map_err(|error| Trouble::Passing(error.to_string()))?;
        match self.reach(head).and_then(|()| (self.connect)().map_err(Trouble::from)) {
            Ok(log) => {
                let mirror = std::sync::Arc::clone(&self.mirror);
                let reader = locked(&mirror).reader();
                self.reigning = Some(Reigning { epoch, lease: lease.clone() });
                self.epoch = epoch;
                self.tell_leader(Some(Leader {
                    id: MemberId(self.me.member),
                    epoch,
                    grpc: self.me.grpc.clone(),
                    http: self.me.http.clone(),
                }));
                self.news.push_back(News::Reign(Box::new(ReignJournal {
                    epoch,
                    log,
                    lease,
                    options: self.options,
                    recorder: Recorder::new(head),
                    mirror,
                    reader,
                    uploads: Uploads::new(std::sync::Arc::clone(&self.connect)),
                    _renewal: renewal,
                })));
                Ok(())
            }
            Err(trouble) => {
                drop(renewal);
                self.log.resign(epoch)?;
                Err(trouble)
            }
        }
    }

    /// Nobody else appends any more: this is all there is.
    fn reach(&mut self, head: Head) -> Result<(), Trouble> {
        while locked(&self.mirror).head().seq < head.seq {
            self.read_on()?;
        }
        compare(locked(&self.mirror).head(), head)
    }
}

/// The log must have what was taken in from it.
fn compare(mine: Head, head: Head) -> Result<(), Trouble> {
    if head.seq < mine.seq {
        return Err(Trouble::Lost(format!(
            "it ends at position {}, and position {} was applied here",
            head.seq, mine.seq
        )));
    }
    if head.seq == mine.seq && head.chain != mine.chain {
        return Err(Trouble::Lost(format!(
            "position {} has another history there than here",
            mine.seq
        )));
    }
    Ok(())
}

impl From<SharedError> for Trouble {
    fn from(error: SharedError) -> Trouble {
        match error {
            SharedError::Lost(why) => Trouble::Lost(why),
            error @ (SharedError::Unreachable(_)
            | SharedError::Fenced { .. }
            | SharedError::Unfit(_)) => Trouble::Passing(error.to_string()),
        }
    }
}

/// Of the own copy: a full disk may be mended while this goes on.
impl From<AppendError> for Trouble {
    fn from(error: AppendError) -> Trouble {
        Trouble::Passing(format!("the copy on this machine: {error}"))
    }
}

impl From<OpenError> for Trouble {
    fn from(error: OpenError) -> Trouble {
        Trouble::Passing(format!("the copy on this machine: {error}"))
    }
}

impl From<ReadError> for Trouble {
    fn from(error: ReadError) -> Trouble {
        Trouble::Passing(format!("the copy on this machine: {error}"))
    }
}

impl From<Trouble> for ClusterError {
    fn from(trouble: Trouble) -> ClusterError {
        match trouble {
            Trouble::Passing(why) => ClusterError::Unreachable(why),
            Trouble::Lost(why) => ClusterError::Broken(format!(
                "the shared journal has lost records: {why}. This scheduler does not lead on it; \
                 `bellwether cluster recover` appends them again from the copy here"
            )),
        }
    }
}
