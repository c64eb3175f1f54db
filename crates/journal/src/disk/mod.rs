//! What the journals that live in a data directory share.

pub(crate) mod cell;
pub(crate) mod epoch;
pub(crate) mod lock;
pub(crate) mod snapshots;
pub(crate) mod witness;

pub use lock::DirectoryLock;
pub use snapshots::SnapshotFiles;

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes names in the directory durable: files created, renamed or removed.
pub(crate) fn sync_directory(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// A journal may be begun only where nothing else is.
pub(crate) fn refuse_unless_empty(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        if entry?.file_name() != lock::FILE {
            let text = "the directory is not empty; choose another";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
        }
    }
    Ok(())
}

pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
