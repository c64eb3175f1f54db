//! A backup for somebody who asks for one while the scheduler works.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bellwether_journal::{ReadError, Reader};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Desk;
use crate::backup::{Kept, PackError, Sink, Source, pack};
use crate::config::JournalKind;
use crate::event_loop::clock;
use crate::projections::history::Follower;

/// Where databases are copied to; whatever lies there is of no use to anybody later.
const SCRATCH: &str = "backup.unfinished";

/// One at a time is taken.
#[derive(Clone)]
pub(crate) struct Backups {
    dir: Arc<Path>,
    journal: JournalKind,
    reader: Arc<Mutex<Box<dyn Reader>>>,
}

/// The right to take one.
pub(crate) struct Turn {
    dir: PathBuf,
    journal: JournalKind,
    reader: OwnedMutexGuard<Box<dyn Reader>>,
    /// What can be read now is not truncated before it is given.
    _held: Follower,
}

impl std::fmt::Debug for Backups {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backups").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Backups {
    pub(crate) fn new(dir: &Path, journal: JournalKind, reader: Box<dyn Reader>) -> Backups {
        Backups { dir: dir.into(), journal, reader: Arc::new(Mutex::new(reader)) }
    }
}

impl Desk {
    /// None while another one is taken.
    pub(crate) fn backup(&self) -> Result<Option<Turn>, ReadError> {
        let Backups { dir, journal, reader } = self.backups.clone();
        let Ok(reader) = reader.try_lock_owned() else { return Ok(None) };
        let held = self.history.follow(reader.base()?.seq);
        Ok(Some(Turn { dir: dir.to_path_buf(), journal, reader, _held: held }))
    }
}

impl Turn {
    /// Blocks until all parts are taken, or nobody takes them.
    pub(crate) fn give(self, sink: &mut Sink<'_>) -> Result<Kept, PackError> {
        let source = Source {
            dir: &self.dir,
            journal: self.journal,
            reader: self.reader.as_ref(),
            scratch: self.dir.join(SCRATCH),
            taken_at: clock::wall().0,
        };
        pack(&source, sink)
    }
}
