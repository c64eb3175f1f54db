//! What openraft calls the state machine: how far the journal is committed.

use openraft::storage::RaftStateMachine;
use openraft::{
    AnyError, OptionalSend, RaftSnapshotBuilder, Snapshot, SnapshotMeta, StorageIOError,
};

use super::applied::{Applied, Mark};
use super::snapshot::{Content, SnapshotFile};
use super::writer::Change;
use super::{Store, other};
use crate::raft::types::{LogEntry, LogId, Place, Records, StorageError, StoredMembership, Taken};

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    store: Store,
    /// A snapshot of nothing has no file.
    empty: Option<Mark>,
}

impl Machine {
    pub(super) fn new(store: Store) -> Machine {
        Machine { store, empty: None }
    }

    /// The state that was saved last, with the place in the log that it stands for: all that lies
    /// before the record that follows it.
    #[expect(clippy::result_large_err, reason = "openraft wants its own error")]
    fn saved(&self) -> Result<Option<Snapshot<Records>>, StorageError> {
        let Some((head, file)) = self.store.files().latest().map_err(unreadable)? else {
            return Ok(None);
        };
        let last = self.store.place_of(head).map_err(unreadable)?;
        let mark = self.store.applied().mark(last, head);
        Ok(Some(snapshot(mark, Content::Kept(file))))
    }
}

impl RaftSnapshotBuilder<Records> for Machine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Records>, StorageError> {
        if let Some(saved) = self.saved()? {
            return Ok(saved);
        }
        let applied = self.store.applied();
        if applied.head().seq.0 > 0 {
            return Err(unreadable("no state was saved yet"));
        }
        let mark = applied.mark(applied.last(), applied.head());
        Ok(snapshot(mark, Content::Empty))
    }
}

impl RaftStateMachine<Records> for Machine {
    type SnapshotBuilder = Machine;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, StoredMembership), StorageError> {
        let applied = self.store.applied();
        Ok((applied.last(), applied.membership().clone()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Taken>, StorageError>
    where
        I: IntoIterator<Item = LogEntry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let mut taken = Vec::new();
        let mut applied = self.store.applied();
        for entry in entries {
            let head = applied
                .apply(&entry)
                .map_err(|damage| StorageIOError::apply(entry.log_id, AnyError::new(&damage)))?;
            taken.push(Taken { head });
        }
        self.store.announce(&applied);
        Ok(taken)
    }

    async fn get_snapshot_builder(&mut self) -> Machine {
        let applied = self.store.applied();
        self.empty = Some(applied.mark(applied.last(), applied.head()));
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotFile>, StorageError> {
        Ok(Box::new(SnapshotFile { mark: Mark::default(), content: Content::Empty }))
    }

    async fn install_snapshot(
        &mut self,
        _meta: &SnapshotMeta<u64, Place>,
        received: Box<SnapshotFile>,
    ) -> Result<(), StorageError> {
        let SnapshotFile { mark, content } = *received;
        let writer = &self.store.shared.writer;
        // If the process ends in between, the note says whether the file has come to stay.
        writer.change(Change::Installing(mark.clone())).await.map_err(unwritable)?;
        match content {
            Content::Received(path) => {
                self.store.files().adopt(&path, mark.head).map_err(unwritable)?;
            }
            Content::Empty => self.empty = Some(mark.clone()),
            Content::Kept(_) => {}
        }
        writer.change(Change::Installed(mark.clone())).await.map_err(unwritable)?;
        let mut applied = self.store.applied();
        *applied = Applied::new(mark);
        self.store.announce(&applied);
        Ok(())
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Records>>, StorageError> {
        let saved = self.saved()?;
        let empty = self.empty.as_ref().filter(|mark| mark.head.seq.0 == 0);
        Ok(saved.or_else(|| Some(snapshot(empty?.clone(), Content::Empty))))
    }
}

fn snapshot(mark: Mark, content: Content) -> Snapshot<Records> {
    let index = mark.last.map_or(0, |last| last.index);
    let meta = SnapshotMeta {
        last_log_id: mark.last,
        last_membership: mark.membership.clone(),
        snapshot_id: format!("{}-{index}", mark.head.seq),
    };
    Snapshot { meta, snapshot: Box::new(SnapshotFile { mark, content }) }
}

fn unreadable(error: impl std::fmt::Display) -> StorageError {
    StorageIOError::read_snapshot(None, AnyError::new(&other(error))).into()
}

fn unwritable(error: impl std::fmt::Display) -> StorageError {
    StorageIOError::write_snapshot(None, AnyError::new(&other(error))).into()
}
