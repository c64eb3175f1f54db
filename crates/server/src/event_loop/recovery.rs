//! From the journal to an engine.

use bellwether_core::Engine;
use bellwether_core::model::Seq;
use bellwether_journal::{Head, ReadError, Reader, SnapshotError};

use crate::projections::telemetry::Past;

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The latest snapshot and what the journal holds behind it, and where that ends.
///
/// `past` is shown what is replayed.
pub(crate) fn recover(
    journal: &dyn Reader,
    past: Option<&mut Past>,
) -> Result<(Engine, Head), RecoverError> {
    recover_until(journal, Seq(u64::MAX), past)
}

/// The same without records behind `until`, unless the snapshot is.
pub(crate) fn recover_until(
    journal: &dyn Reader,
    until: Seq,
    mut past: Option<&mut Past>,
) -> Result<(Engine, Head), RecoverError> {
    let snapshot = journal.load_snapshot()?;
    let mut head = snapshot.as_ref().map(|snapshot| snapshot.head).unwrap_or_default();
    let mut engine = bellwether_host::restore(snapshot.as_ref())?;
    drop(snapshot);
    if let Some(past) = &mut past {
        past.begin(engine.state());
    }
    for record in journal.read(engine.last_seq().next())? {
        let record = record?;
        if record.head().seq > until {
            break;
        }
        head = record.head();
        for entry in &record.entries {
            engine.replay(entry);
        }
        if let Some(past) = &mut past {
            record.entries.iter().for_each(|entry| past.see(entry));
            past.flush();
        }
    }
    Ok((engine, head))
}
