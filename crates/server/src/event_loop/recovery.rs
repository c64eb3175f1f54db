//! From the journal to an engine.

use bellwether_core::Engine;
use bellwether_core::model::Config;
use bellwether_journal::{Journal, ReadError, SnapshotError, state};

use crate::projections::telemetry::Past;

#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The latest snapshot and what the journal holds behind it. The configuration that an empty
/// journal starts with is the default one: any other is an event.
///
/// `past` is shown what is replayed.
pub(crate) fn recover(
    journal: &dyn Journal,
    mut past: Option<&mut Past>,
) -> Result<Engine, RecoverError> {
    let mut engine = match journal.load_snapshot()? {
        Some(snapshot) => state::decode(&snapshot.bytes)?,
        None => Engine::new(Config::default()),
    };
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
