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

/// Where snapshots are kept. The latest is all that is needed; older ones may be dropped.
pub trait Snapshots: Send {
    /// Durable when it returns.
    fn save(&self, snapshot: &Snapshot) -> Result<(), SnapshotError>;
    /// The latest, verified.
    fn load(&self) -> Result<Option<Snapshot>, SnapshotError>;
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
