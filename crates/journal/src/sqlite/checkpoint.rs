//! Copies the log into the database without making appends wait for it.
//!
//! The bulk is copied on a thread of its own while appends go on. What they have added meanwhile is
//! little; the appending thread copies that itself, after which SQLite writes the log from its
//! start again. So the log stays bounded under a load that never pauses.

use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::failure::append_error;
use super::{SqliteOptions, connection};
use crate::journal::AppendError;

/// Pages that a commit adds besides those that its record fills: the leaf of the table, and the
/// page above it now and then.
const PAGES_BESIDES: u64 = 2;

#[derive(Debug)]
pub(super) struct Checkpoints {
    options: SqliteOptions,
    /// About so many pages were added to the log since it was last copied.
    pages: u64,
    under_way: bool,
    /// None only while it is dropped.
    copier: Option<Copier>,
}

#[derive(Debug)]
struct Copier {
    ask: Sender<()>,
    done: Receiver<Result<(), AppendError>>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    pub(super) fn start(dir: &Path, options: SqliteOptions) -> Result<Checkpoints, StartError> {
        let connection = connection::open_beside(dir)?;
        let (ask, asked) = channel();
        let (tell, done) = channel();
        let thread =
            std::thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
                for () in asked {
                    if tell.send(copy(&connection)).is_err() {
                        return;
                    }
                }
            })?;
        let copier = Some(Copier { ask, done, thread });
        Ok(Checkpoints { options, pages: 0, under_way: false, copier })
    }

    /// After each commit, with the bytes of its record. An error means that a sync of the database
    /// failed, so that nothing of the log may be given up and nothing more may be written.
    pub(super) fn committed(
        &mut self,
        bytes: usize,
        connection: &Connection,
    ) -> Result<(), AppendError> {
        self.pages += bytes as u64 / u64::from(self.options.page_bytes) + PAGES_BESIDES;
        let Some(copier) = &self.copier else { return Ok(()) };
        if self.under_way {
            match copier.done.try_recv() {
                Ok(copied) => {
                    copied?;
                    copy(connection)?;
                    self.under_way = false;
                    self.pages = 0;
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => unreachable!("it ends after the journal"),
            }
        } else if self.pages >= u64::from(self.options.checkpoint_pages) {
            self.under_way = copier.ask.send(()).is_ok();
        }
        Ok(())
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        let Some(Copier { ask, done, thread }) = self.copier.take() else { return };
        drop((ask, done));
        // The directory may be given to another only once nobody writes here any more.
        thread.join().expect("the checkpoint thread does not panic");
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    Open(#[from] rusqlite::Error),
    #[error(transparent)]
    Thread(#[from] std::io::Error),
}

/// Copies what can be copied without waiting for anybody.
fn copy(connection: &Connection) -> Result<(), AppendError> {
    let copied = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    match copied.map_err(|error| append_error(&error)) {
        // The log keeps everything until there is space.
        Err(AppendError::Full) => Ok(()),
        copied => copied,
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::Seq;

    use super::*;
    use crate::conformance::samples::Samples;
    use crate::{Journal as _, SqliteJournal};

    #[test]
    fn log_stays_bounded_under_a_load_that_never_pauses() {
        let dir = tempfile::tempdir().unwrap();
        let options = SqliteOptions { page_bytes: 512, checkpoint_pages: 200 };
        let mut journal = SqliteJournal::open(dir.path(), options).unwrap();
        let log = dir.path().join("journal.sqlite-wal");
        let mut samples = Samples::new(1, Seq(0));
        let mut written = 0;
        while written < 40 * u64::from(options.page_bytes * options.checkpoint_pages) {
            let entries = samples.entries(3);
            let (epoch, head) = (journal.epoch(), journal.head().seq);
            journal.append(epoch, head, &entries).unwrap();
            written += u64::from(options.page_bytes);
        }
        let bytes = log.metadata().unwrap().len();
        assert!(bytes < written / 2, "{bytes} of {written}");
    }
}
