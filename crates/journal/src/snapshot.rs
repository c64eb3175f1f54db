//! The state at a position, so that the records before it need not be read.

use std::io;

use bellwether_core::model::Seq;
use bytes::Bytes;

use crate::chain::Head;
use crate::state::FORMAT;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The position that the state is of, and the chain there.
    pub head: Head,
    pub bytes: Bytes,
}

/// A snapshot that is read, and what it says that it is of.
pub type OpenSnapshot = (Head, Box<dyn io::Read + Send>);

/// Where snapshots are kept. A start needs the latest alone; whoever goes back needs one from where the
/// journal begins.
pub trait Snapshots: Send + Sync {
    /// A new one of the state at `head`. There is nothing of it before it is finished; what is begun
    /// and not finished is dropped with the next one.
    fn begin(&self, head: Head) -> Result<Box<dyn SnapshotWriter>, SnapshotError>;

    /// The latest, verified.
    fn load(&self) -> Result<Option<Snapshot>, SnapshotError>;

    /// What the latest says that it is of, without a look at all of it.
    fn head(&self) -> Result<Option<Head>, SnapshotError>;

    /// The bytes of the latest, from the beginning. They stay what they are when it is replaced.
    fn open(&self) -> Result<Option<Box<dyn io::Read + Send>>, SnapshotError>;

    /// The bytes of the oldest that the journal goes on from, if it begins after `base`. They stay what
    /// they are when it is removed.
    fn open_oldest(&self, base: Seq) -> Result<Option<OpenSnapshot>, SnapshotError>;

    /// Durable when it returns.
    fn save(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        let mut writer = self.begin(snapshot.head)?;
        writer.write(&snapshot.bytes)?;
        writer.finish()
    }
}

/// A snapshot that is being written.
pub trait SnapshotWriter: Send {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SnapshotError>;

    /// It is the latest, and durable, when this returns.
    fn finish(self: Box<Self>) -> Result<(), SnapshotError>;
}

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error(
        "the snapshot at position {at} is damaged: it does not match its hash. Restore the data \
         directory from a backup"
    )]
    Damaged { at: Seq },
    #[error(
        "the snapshot has format {found}, of a newer version; this one reads formats 1 to \
         {FORMAT}. Start the version that wrote it, or a later one"
    )]
    Format { found: u32 },
    #[error(
        "the snapshot can't be understood: {why}. Start the version that wrote it, or restore the \
         data directory from a backup"
    )]
    Unreadable { why: String },
    #[error("the disk is full; the snapshot was not saved")]
    Full,
    #[error("the snapshot could not be read or written: {0}")]
    Io(#[from] io::Error),
}
