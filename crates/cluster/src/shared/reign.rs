//! The journal of one reign over a shared log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::file::Mirror;
use bellwether_journal::journal::check_position;
use bellwether_journal::shared::{RawRecord, SharedLog};
use bellwether_journal::{
    AppendError, Head, Journal, Lease, ReadError, Reader, Recorder, Records, Snapshots,
    TruncateError,
};
use bytes::Bytes;

use super::locked;
use super::options::SharedOptions;
use super::renewal::Renewal;
use super::upload::Uploads;
use crate::clock;

/// Between two questions whether an append has arrived.
const ASK_AGAIN: Duration = Duration::from_millis(5);

pub(super) struct ReignJournal {
    pub(super) epoch: Epoch,
    pub(super) log: Box<dyn SharedLog>,
    pub(super) lease: Lease,
    pub(super) options: SharedOptions,
    pub(super) recorder: Recorder,
    pub(super) mirror: Arc<Mutex<Mirror>>,
    pub(super) reader: Box<dyn Reader>,
    pub(super) uploads: Uploads,
    pub(super) _renewal: Renewal,
}

impl ReignJournal {
    /// In the log when it returns. While the lease holds nobody else appends, so an append without an
    /// answer is found out about.
    fn keep(&mut self, prior: Head, record: &RawRecord) -> Result<(), AppendError> {
        loop {
            let asked = clock::now();
            match self.log.append(self.epoch, prior, record, self.options.lease) {
                Ok(()) => {
                    self.lease.extend(self.options.end_of_lease(asked));
                    return Ok(());
                }
                Err(AppendError::Deposed) => {}
                Err(AppendError::Full) => return Err(AppendError::Full),
                // The records that this reign stands on are not there; whoever follows finds out.
                Err(AppendError::WrongPosition { .. }) => return Err(AppendError::Deposed),
                Err(error) => return Err(error),
            }
            if self.arrived(prior, record)? {
                return Ok(());
            }
        }
    }

    /// Whether the log has the record; if not, it is to be sent again.
    fn arrived(&mut self, prior: Head, record: &RawRecord) -> Result<bool, AppendError> {
        while self.lease.holds_at(clock::now()) {
            match self.log.look() {
                Ok(sight) if sight.epoch != self.epoch => return Err(AppendError::Deposed),
                Ok(sight) if sight.head == record.head() => return Ok(true),
                Ok(sight) if sight.head == prior => return Ok(false),
                Ok(_) => return Err(AppendError::Deposed),
                Err(_) => std::thread::sleep(ASK_AGAIN),
            }
        }
        Err(AppendError::Deposed)
    }
}

impl Journal for ReignJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn lease(&self) -> Lease {
        self.lease.clone()
    }

    fn head(&self) -> Head {
        self.recorder.head()
    }

    fn append(
        &mut self,
        epoch: Epoch,
        expected: Seq,
        entries: &[Entry],
    ) -> Result<Head, AppendError> {
        if epoch != self.epoch {
            return Err(AppendError::Fenced { current: self.epoch });
        }
        let prior = self.recorder.head();
        check_position(prior, expected, entries)?;
        if entries.is_empty() {
            return Ok(prior);
        }
        let draft = self.recorder.draft(epoch, entries);
        let head = draft.head;
        let bytes = Bytes::copy_from_slice(draft.bytes);
        let record = RawRecord { last: head.seq, chain: head.chain, bytes };
        if let Err(error) = self.keep(prior, &record) {
            if !matches!(error, AppendError::Full) {
                self.lease.end();
            }
            return Err(error);
        }
        // A leader whose own copy ends could show nobody what it decides: another one leads.
        locked(&self.mirror).append(&record).map_err(|_| {
            self.lease.end();
            AppendError::Deposed
        })?;
        self.recorder.accept(head);
        Ok(head)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        Ok(locked(&self.mirror).reader())
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        if !self.lease.holds_at(clock::now()) {
            return Err(AppendError::Deposed.into());
        }
        locked(&self.mirror).truncate_before(seq)?;
        self.uploads.start(self.epoch, self.snapshots(), seq);
        Ok(())
    }
}

impl Reader for ReignJournal {
    fn base(&self) -> Result<Head, ReadError> {
        self.reader.base()
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.reader.read(from)
    }

    fn bytes_at(&self, at: Seq) -> Result<Option<Bytes>, ReadError> {
        self.reader.bytes_at(at)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        self.reader.snapshots()
    }
}

impl Drop for ReignJournal {
    fn drop(&mut self) {
        // Whoever still holds the lease must not rely on it, even if a renewal is under way.
        self.lease.end();
    }
}
