//! The journal, for those who read it from the start or follow it.

use std::sync::{Arc, Mutex, PoisonError};

use bellwether_core::model::Seq;
use bellwether_journal::{ReadError, Reader, Record};

#[derive(Clone)]
pub(crate) struct History {
    // One reader for all: it is held for one bounded read, on a thread that may block.
    reader: Arc<Mutex<Box<dyn Reader>>>,
}

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("History")
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("the reader has stopped")]
    Stopped,
}

impl History {
    pub(crate) fn new(reader: Box<dyn Reader>) -> History {
        History { reader: Arc::new(Mutex::new(reader)) }
    }

    /// Records from `from` on, about so many entries of them.
    pub(crate) async fn read(
        &self,
        from: Seq,
        entries: usize,
    ) -> Result<Vec<Record>, HistoryError> {
        let history = self.clone();
        let read = tokio::task::spawn_blocking(move || {
            let reader = history.reader.lock().unwrap_or_else(PoisonError::into_inner);
            let mut records = Vec::new();
            let mut count = 0;
            for record in reader.read(from)? {
                let record = record?;
                count += record.entries.len();
                records.push(record);
                if count >= entries {
                    break;
                }
            }
            Ok(records)
        });
        read.await.map_err(|_| HistoryError::Stopped)?
    }
}
