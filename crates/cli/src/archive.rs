//! Data directories, looked at or made while no scheduler runs on them.

use std::path::Path;

use anyhow::Context as _;
use bellwether_core::Engine;
use bellwether_core::model::Config;
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{FileJournal, Head, OpenError, Reader, Snapshot, SqliteJournal, state};
use bellwether_server::ServerConfig;
use bellwether_server::config::JournalKind;

/// What a journal is kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    File,
    Sqlite,
}

impl Backend {
    /// What a scheduler without other settings expects.
    pub(crate) fn usual() -> Backend {
        match ServerConfig::default().journal {
            JournalKind::File => Backend::File,
            // What schedulers share is not in a directory; what they leave there is.
            JournalKind::Sqlite
            | JournalKind::Redis
            | JournalKind::Postgres
            | JournalKind::Raft => Backend::Sqlite,
        }
    }

    /// What the directory holds.
    pub(crate) fn of(dir: &Path) -> anyhow::Result<Backend> {
        let entries = std::fs::read_dir(dir)
            .with_context(|| format!("failed to read the data directory {}", dir.display()))?;
        let names: Vec<String> = entries
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<std::io::Result<_>>()?;
        if names.iter().any(|name| name == "journal.sqlite") {
            return Ok(Backend::Sqlite);
        }
        let is_segment = |name: &String| name.starts_with("journal-") && name.ends_with(".log");
        anyhow::ensure!(names.iter().any(is_segment), "there is no journal in {}", dir.display());
        Ok(Backend::File)
    }

    /// Verifies the chain from end to end, and reads.
    pub(crate) fn inspect(self, dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        match self {
            Backend::File => FileJournal::inspect(dir),
            Backend::Sqlite => SqliteJournal::inspect(dir),
        }
    }

    /// Reads without verifying everything first: damage is met where it is.
    pub(crate) fn look(self, dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        match self {
            Backend::File => Ok(FileJournal::look(dir)),
            Backend::Sqlite => SqliteJournal::look(dir),
        }
    }

    /// Makes a journal that begins with this state.
    pub(crate) fn begin_at(self, dir: &Path, snapshot: &Snapshot) -> Result<(), OpenError> {
        match self {
            Backend::File => FileJournal::begin_at(dir, snapshot, FileOptions::default()),
            Backend::Sqlite => SqliteJournal::begin_at(dir, snapshot, SqliteOptions::default()),
        }
    }
}

/// The state before the first record that can be replayed: the beginning, or a snapshot that stands
/// for what was truncated.
pub(crate) fn origin(reader: &dyn Reader) -> anyhow::Result<(Engine, Head)> {
    let base = reader.base()?;
    if base == Head::GENESIS {
        return Ok((Engine::new(Config::default()), base));
    }
    let snapshot = reader.load_snapshot()?.with_context(|| {
        format!("records up to {} are gone, and there is no snapshot", base.seq)
    })?;
    Ok((state::decode(&snapshot.bytes)?, snapshot.head))
}
