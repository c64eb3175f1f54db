//! From the journal to an engine.

use bellwether_core::Engine;
use bellwether_journal::{Journal, ReadError, SnapshotError};

use crate::projections::telemetry::Past;

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The latest snapshot and what the journal holds behind it.
///
/// `past` is shown what is replayed.
pub(crate) fn recover(
    journal: &dyn Journal,
    mut past: Option<&mut Past>,
) -> Result<Engine, RecoverError> {
    let mut engine = bellwether_host::restore(journal.load_snapshot()?.as_ref())?;
    if let Some(past) = &mut past {
        past.begin(engine.state());
    }
    for record in journal.read(engine.last_seq().next())? {
        let entries = record?.entries;
        for entry in &entries {
            engine.replay(entry);
        }
        if let Some(past) = &mut past {
            entries.iter().for_each(|entry| past.see(entry));
            past.flush();
        }
    }
    Ok(engine)
}
