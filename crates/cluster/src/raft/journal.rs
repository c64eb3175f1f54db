//! The journal of a reign: an append is a proposal, and done once it is committed.

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::{
    AppendError, Head, Journal, Lease, ReadError, Reader, Recorder, Records, Snapshots,
    TruncateError,
};
use bytes::Bytes;
use tokio::runtime::Handle;

use super::board::Accession;
use super::node::Node;
use super::types::Proposal;

/// A larger record is divided, if it can be.
const RECORD_BYTES_MAX: usize = 4 << 20;

pub(super) struct RaftJournal {
    node: Node,
    runtime: Handle,
    accession: Accession,
    recorder: Recorder,
    reader: Box<dyn Reader>,
}

impl RaftJournal {
    pub(super) fn new(
        node: Node,
        runtime: Handle,
        accession: Accession,
        head: Head,
    ) -> Result<RaftJournal, ReadError> {
        let reader = node.store.reader()?;
        Ok(RaftJournal { node, runtime, accession, recorder: Recorder::new(head), reader })
    }

    /// One record after the other, each small enough not to hold up signs of life.
    fn propose_all(&mut self, entries: &[Entry]) -> Result<(), AppendError> {
        let draft = self.recorder.draft(self.accession.epoch, entries);
        if draft.bytes.len() > RECORD_BYTES_MAX && entries.len() > 1 {
            let (first, second) = entries.split_at(entries.len() / 2);
            self.propose_all(first)?;
            return self.propose_all(second);
        }
        let (record, head) = (Bytes::copy_from_slice(draft.bytes), draft.head);
        let proposal = Proposal { prior: self.recorder.head(), head, record };
        self.propose(proposal)?;
        self.recorder.accept(head);
        Ok(())
    }

    /// Whatever goes wrong once it was proposed, another may commit it.
    fn propose(&self, proposal: Proposal) -> Result<(), AppendError> {
        let raft = self.node.raft().map_err(|_| AppendError::Deposed)?;
        let head = proposal.head;
        let mut over = self.accession.over.subscribe();
        let taken = self.runtime.block_on(async {
            tokio::select! {
                biased;
                written = raft.client_write(proposal) => written.ok(),
                _ = over.wait_for(|over| *over) => None,
            }
        });
        match taken {
            Some(written) if written.data.head == head => Ok(()),
            Some(_) | None => Err(AppendError::Deposed),
        }
    }

    fn is_over(&self) -> bool {
        *self.accession.over.borrow()
    }
}

impl Journal for RaftJournal {
    fn epoch(&self) -> Epoch {
        self.accession.epoch
    }

    fn lease(&self) -> Lease {
        self.accession.lease.clone()
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
        if epoch != self.epoch() {
            return Err(AppendError::Fenced { current: self.epoch() });
        }
        let head = self.head();
        let follows = entries.first().map_or(expected, |entry| Seq(entry.seq.0 - 1));
        if head.seq != expected || follows != expected {
            return Err(AppendError::WrongPosition { expected: follows, head: head.seq });
        }
        if self.is_over() {
            let leader = self.node.board.look(|member| member.leader());
            let current = leader.map_or(self.epoch(), |(_, epoch)| epoch);
            return Err(AppendError::Fenced { current });
        }
        if !entries.is_empty() {
            self.propose_all(entries)?;
        }
        Ok(self.head())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        self.node.store.reader()
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        truncate_before(&self.node, &self.runtime, seq)
    }
}

/// In the background: nothing depends on when it is done.
pub(super) fn truncate_before(
    node: &Node,
    runtime: &Handle,
    seq: Seq,
) -> Result<(), TruncateError> {
    let saved = node.store.snapshots().head()?;
    if saved.is_none_or(|saved| saved.seq.next() < seq) {
        return Err(TruncateError::NoSnapshot { before: seq });
    }
    let node = node.clone();
    runtime.spawn(async move { node.forget_before(seq).await });
    Ok(())
}

impl Reader for RaftJournal {
    fn base(&self) -> Result<Head, ReadError> {
        self.reader.base()
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.reader.read(from)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        self.reader.snapshots()
    }
}

impl Drop for RaftJournal {
    fn drop(&mut self) {
        let epoch = self.accession.epoch;
        self.node.board.tell(|member, now| member.handle_abandoned(now, epoch));
    }
}
