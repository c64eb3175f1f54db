//! A connection that can be cut, as a network can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bellwether_cluster::shared::Connect;
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::shared::{Candidate, RawRecord, SharedError, SharedLog, Sight};
use bellwether_journal::{AppendError, Head, Snapshot};

/// What happens to the connections of one scheduler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link {
    /// Nothing goes either way.
    cut: Arc<AtomicBool>,
    /// The next append arrives, and its answer does not.
    loses_an_answer: Arc<AtomicBool>,
    cuts_with_it: Arc<AtomicBool>,
}

impl Link {
    pub(crate) fn cut(&self) {
        self.cut.store(true, Ordering::SeqCst);
    }

    pub(crate) fn heal(&self) {
        self.cut.store(false, Ordering::SeqCst);
    }

    pub(crate) fn lose_an_answer(&self) {
        self.loses_an_answer.store(true, Ordering::SeqCst);
    }

    /// The next append arrives, and from then on nobody can be asked about it.
    pub(crate) fn cut_after_the_next_append(&self) {
        self.cuts_with_it.store(true, Ordering::SeqCst);
        self.lose_an_answer();
    }

    pub(crate) fn over(&self, connect: &Connect) -> Connect {
        let (link, connect) = (self.clone(), Arc::clone(connect));
        Arc::new(move || Ok(Box::new(Linked { link: link.clone(), log: connect()? })))
    }

    fn check(&self) -> Result<(), SharedError> {
        if self.cut.load(Ordering::SeqCst) {
            return Err(SharedError::Unreachable("the link is cut".to_owned()));
        }
        Ok(())
    }
}

struct Linked {
    link: Link,
    log: Box<dyn SharedLog>,
}

impl Linked {
    fn over<T>(
        &mut self,
        call: impl FnOnce(&mut dyn SharedLog) -> Result<T, SharedError>,
    ) -> Result<T, SharedError> {
        self.link.check()?;
        let answer = call(self.log.as_mut());
        self.link.check()?;
        answer
    }
}

impl SharedLog for Linked {
    fn enroll(&mut self) -> Result<u16, SharedError> {
        self.over(|log| log.enroll())
    }

    fn look(&mut self) -> Result<Sight, SharedError> {
        self.over(|log| log.look())
    }

    fn accede(
        &mut self,
        candidate: &Candidate,
        after: Epoch,
        lease: Duration,
    ) -> Result<Option<(Epoch, Head)>, SharedError> {
        self.over(|log| log.accede(candidate, after, lease))
    }

    fn renew(&mut self, epoch: Epoch, lease: Duration) -> Result<bool, SharedError> {
        self.over(|log| log.renew(epoch, lease))
    }

    fn resign(&mut self, epoch: Epoch) -> Result<(), SharedError> {
        self.over(|log| log.resign(epoch))
    }

    fn append(
        &mut self,
        epoch: Epoch,
        prior: Head,
        record: &RawRecord,
        lease: Duration,
    ) -> Result<(), AppendError> {
        if self.link.check().is_err() {
            return Err(AppendError::Deposed);
        }
        let answer = self.log.append(epoch, prior, record, lease);
        if self.link.loses_an_answer.swap(false, Ordering::SeqCst) {
            let cuts = self.link.cuts_with_it.swap(false, Ordering::SeqCst);
            self.link.cut.fetch_or(cuts, Ordering::SeqCst);
            return Err(AppendError::Deposed);
        }
        answer
    }

    fn read(&mut self, after: Seq, bytes_max: usize) -> Result<Vec<RawRecord>, SharedError> {
        self.over(|log| log.read(after, bytes_max))
    }

    fn save_snapshot(
        &mut self,
        epoch: Epoch,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError> {
        self.over(|log| log.save_snapshot(epoch, snapshot, before))
    }

    fn begin_at(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<(), SharedError> {
        self.over(|log| log.begin_at(epoch, snapshot))
    }

    fn load_snapshot(&mut self) -> Result<Option<Snapshot>, SharedError> {
        self.over(|log| log.load_snapshot())
    }
}
