//! When the journal's log is copied into its database.

use std::path::Path;

use rusqlite::Connection;

use super::failure::append_error;
use super::log_copier::LogCopier;
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
    copier: LogCopier,
}

impl Checkpoints {
    pub(super) fn start(dir: &Path, options: SqliteOptions) -> Result<Checkpoints, StartError> {
        let connection = connection::open_beside(dir)?;
        let copier = LogCopier::start("checkpoint", connection, || ())?;
        Ok(Checkpoints { options, pages: 0, copier })
    }

    /// After each commit, with the bytes of its record. An error means that a sync of the database
    /// failed, so that nothing of the log may be given up and nothing more may be written.
    pub(super) fn committed(
        &mut self,
        bytes: usize,
        connection: &Connection,
    ) -> Result<(), AppendError> {
        self.pages += bytes as u64 / u64::from(self.options.page_bytes) + PAGES_BESIDES;
        let is_long = self.pages >= u64::from(self.options.checkpoint_pages);
        match self.copier.committed(is_long, connection).map_err(|error| append_error(&error)) {
            Ok(false) => {}
            // The log keeps everything until there is space.
            Ok(true) | Err(AppendError::Full) => self.pages = 0,
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error(transparent)]
    Open(#[from] rusqlite::Error),
    #[error(transparent)]
    Thread(#[from] std::io::Error),
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
