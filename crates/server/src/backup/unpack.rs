//! Parts into a data directory, as of the end of the backup or of an earlier moment.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::Engine;
use bellwether_core::model::{Config, Seq, Timestamp};
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{
    AppendError, Chain, Copied, Damage, FileJournal, Head, OpenError, Snapshot, SnapshotError,
    SqliteJournal, TakesCopies, state,
};
use bellwether_wire::v1;
use bellwether_wire::v1::backup_part::Part;
use prost::Message as _;

use super::FORMAT;
use super::files::{self, FilesError, is_below};
use crate::config::JournalKind;
use crate::event_loop::settings;
use crate::projections::keys;
use crate::projections::registry::{self, RegistryError};

/// Records that are written with one sync: so many, or so many bytes.
const BATCH_RECORDS: usize = 1_000;
const BATCH_BYTES: usize = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    #[error("the backup has format {found}, of a newer version; this one reads format {FORMAT}")]
    Format { found: u32 },
    #[error("this is no backup: {0}")]
    Malformed(&'static str),
    #[error("the backup is damaged: it does not match its hash")]
    Hash,
    #[error("the backup is cut off")]
    CutOff,
    #[error("the backup is damaged: {0}")]
    Damaged(#[from] Damage),
    #[error(
        "{wanted} can't be reached: what lies before {first} was truncated when this was taken"
    )]
    TooEarly { wanted: String, first: String },
    #[error("position {wanted} can't be reached: it ends at {end}")]
    TooLate { wanted: Seq, end: Seq },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Append(#[from] AppendError),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Database(#[from] FilesError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// Up to where things have happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    End,
    /// The last position to keep. What became durable together is kept whole or not at all.
    Position(Seq),
    /// By the scheduler's time.
    Time(Timestamp),
}

impl Until {
    fn reaches(self, copied: &Copied) -> bool {
        match self {
            Until::End => true,
            Until::Position(to) => copied.record.head().seq <= to,
            Until::Time(to) => copied.record.entries.iter().all(|entry| entry.at <= to),
        }
    }

    /// Whether it lies before this state.
    fn is_before(self, seq: Seq, at: Timestamp) -> bool {
        match self {
            Until::End => false,
            Until::Position(to) => to < seq,
            Until::Time(to) => to < at,
        }
    }
}

/// What was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The first position that the journal has records of.
    pub first: Seq,
    pub head: Head,
    /// The time of the last event.
    pub at: Timestamp,
}

/// Takes parts in their order, then [`Unpacker::finish`].
pub struct Unpacker {
    into: PathBuf,
    until: Until,
    hash: blake3::Hasher,
    begun: Option<Begun>,
    ended: bool,
}

impl std::fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Unpacker").field("into", &self.into).finish_non_exhaustive()
    }
}

struct Begun {
    into: PathBuf,
    until: Until,
    journal: Box<dyn TakesCopies>,
    base: Head,
    snapshot: Option<(Head, Vec<u8>)>,
    /// None until the snapshot is complete.
    engine: Option<Engine>,
    /// Of the records that were read.
    read: Head,
    /// Of those that are kept.
    kept: Head,
    /// What is not written yet.
    batch: Vec<Copied>,
    batch_bytes: usize,
    file: Option<(String, File)>,
}

impl Unpacker {
    /// `into` must be empty, or not be there.
    pub fn new(into: &Path, until: Until) -> Unpacker {
        let (into, hash) = (into.to_owned(), blake3::Hasher::new());
        Unpacker { into, until, hash, begun: None, ended: false }
    }

    pub fn take(&mut self, part: v1::BackupPart) -> Result<(), UnpackError> {
        if self.ended {
            return Err(UnpackError::Malformed("something follows its end"));
        }
        let encoded = part.encode_to_vec();
        let part = part.part.ok_or(UnpackError::Malformed("a part of it is not known"))?;
        if let Part::End(end) = &part {
            return self.end(end);
        }
        self.hash.update(&encoded);
        let Some(begun) = &mut self.begun else {
            let Part::Begin(begin) = part else {
                return Err(UnpackError::Malformed("it does not begin as one"));
            };
            self.begun = Some(Begun::at(&self.into, self.until, &begin)?);
            return Ok(());
        };
        match part {
            Part::Begin(_) => Err(UnpackError::Malformed("it begins twice")),
            Part::Snapshot(chunk) => begun.take_snapshot(&chunk),
            Part::Record(record) => begun.take_record(record),
            Part::File(file) => begun.take_file(&file),
            Part::End(_) => unreachable!("handled above"),
        }
    }

    fn end(&mut self, end: &v1::BackupEnd) -> Result<(), UnpackError> {
        let begun =
            self.begun.as_ref().ok_or(UnpackError::Malformed("it does not begin as one"))?;
        let head = Head { seq: Seq(end.position), chain: chain(&end.chain)? };
        if self.hash.finalize().as_bytes()[..] != end.hash[..] || head != begun.read {
            return Err(UnpackError::Hash);
        }
        self.ended = true;
        Ok(())
    }

    /// Durable when it returns. After an error the directory is of no use.
    pub fn finish(self) -> Result<Restored, UnpackError> {
        match self.begun {
            Some(begun) if self.ended => begun.finish(),
            _ => Err(UnpackError::CutOff),
        }
    }
}

impl Begun {
    fn at(into: &Path, until: Until, begin: &v1::BackupBegin) -> Result<Begun, UnpackError> {
        if begin.format != FORMAT {
            return Err(UnpackError::Format { found: begin.format });
        }
        let base = Head { seq: Seq(begin.base), chain: chain(&begin.base_chain)? };
        let kind = JournalKind::named(&begin.journal)
            .ok_or(UnpackError::Malformed("its kind of journal is not known"))?;
        let journal: Box<dyn TakesCopies> = match kind {
            JournalKind::File => {
                FileJournal::begin_empty(into, base, FileOptions::default())?;
                Box::new(FileJournal::open(into, FileOptions::default())?)
            }
            // What schedulers shared becomes one scheduler's own.
            JournalKind::Sqlite
            | JournalKind::Redis
            | JournalKind::Postgres
            | JournalKind::Raft => {
                SqliteJournal::begin_empty(into, base, SqliteOptions::default())?;
                Box::new(SqliteJournal::open(into, SqliteOptions::default())?)
            }
        };
        Ok(Begun {
            into: into.to_owned(),
            until,
            journal,
            base,
            snapshot: None,
            engine: None,
            read: base,
            kept: base,
            batch: Vec::new(),
            batch_bytes: 0,
            file: None,
        })
    }

    fn take_snapshot(&mut self, chunk: &v1::SnapshotChunk) -> Result<(), UnpackError> {
        if self.engine.is_some() {
            return Err(UnpackError::Malformed("its snapshot comes too late"));
        }
        let head = Head { seq: Seq(chunk.seq), chain: chain(&chunk.chain)? };
        let (known, bytes) = self.snapshot.get_or_insert((head, Vec::new()));
        if *known != head {
            return Err(UnpackError::Malformed("it has two snapshots"));
        }
        bytes.extend_from_slice(&chunk.bytes);
        Ok(())
    }

    /// Where the first record goes on: the beginning, or the snapshot that stands for what is gone.
    fn start(&mut self) -> Result<(), UnpackError> {
        if self.engine.is_some() {
            return Ok(());
        }
        let engine = match self.snapshot.take() {
            _ if self.base == Head::GENESIS => Engine::new(Config::default()),
            None => return Err(UnpackError::Malformed("it has no snapshot")),
            Some((head, bytes)) => {
                let engine = state::decode(&bytes)?;
                let at = engine.state().event_time();
                if engine.last_seq() != head.seq || head.seq < self.base.seq {
                    return Err(UnpackError::Malformed("its snapshot is of another position"));
                }
                if self.until.is_before(head.seq, at) {
                    return Err(self.too_early(head.seq, at));
                }
                // What is made can be gone back in as far as what it is made of.
                self.journal.save_snapshot(&Snapshot { head, bytes: bytes.into() })?;
                engine
            }
        };
        self.engine = Some(engine);
        Ok(())
    }

    fn too_early(&self, seq: Seq, at: Timestamp) -> UnpackError {
        let (wanted, first) = match self.until {
            Until::End => ("the end".to_owned(), format!("position {seq}")),
            Until::Position(to) => (format!("position {to}"), format!("position {seq}")),
            Until::Time(to) => (shown(to), shown(at)),
        };
        UnpackError::TooEarly { wanted, first }
    }

    fn take_record(&mut self, record: v1::BackupRecord) -> Result<(), UnpackError> {
        self.start()?;
        let copied = Copied::read(self.read, chain(&record.chain)?, record.bytes)?;
        let is_next = self.kept == self.read;
        self.read = copied.record.head();
        if !is_next || !self.until.reaches(&copied) {
            return Ok(());
        }
        let engine = self.engine.as_mut().ok_or(UnpackError::Malformed("it has no state"))?;
        for entry in &copied.record.entries {
            if entry.seq > engine.last_seq() {
                engine.replay(entry);
            }
        }
        self.kept = self.read;
        self.batch_bytes += copied.bytes.len();
        self.batch.push(copied);
        if self.batch.len() >= BATCH_RECORDS || self.batch_bytes >= BATCH_BYTES {
            self.write_batch()?;
        }
        Ok(())
    }

    fn write_batch(&mut self) -> Result<(), UnpackError> {
        self.journal.take_copies(&self.batch)?;
        self.batch.clear();
        self.batch_bytes = 0;
        Ok(())
    }

    fn take_file(&mut self, part: &v1::BackupFile) -> Result<(), UnpackError> {
        self.start()?;
        if !is_below(&part.name) {
            return Err(UnpackError::Malformed("a file of it lies elsewhere"));
        }
        if !self.is_wanted(&part.name) {
            return Ok(());
        }
        let path = self.into.join(&part.name);
        let failed = |source| UnpackError::File { path: path.clone(), source };
        if self.file.as_ref().is_none_or(|(name, _)| *name != part.name) {
            self.close_file()?;
            fs::create_dir_all(path.parent().unwrap_or(&self.into)).map_err(failed)?;
            // What is there already is the journal's.
            let file = File::create_new(&path).map_err(failed)?;
            self.file = Some((part.name.clone(), file));
        }
        let (_, file) = self.file.as_mut().ok_or(UnpackError::CutOff)?;
        file.write_all(&part.bytes).map_err(failed)
    }

    /// Files of keys that were written later speak of jobs that are not there. Those whose keys were
    /// written by then are complete: until then the state has them.
    fn is_wanted(&self, name: &str) -> bool {
        // What was applied later is applied again.
        if name == settings::FILE && self.kept != self.read {
            return false;
        }
        match (keys::last_job(name), &self.engine) {
            (Some(last), Some(engine)) => last <= engine.state().last_job,
            _ => true,
        }
    }

    fn close_file(&mut self) -> Result<(), UnpackError> {
        let Some((name, file)) = self.file.take() else { return Ok(()) };
        file.sync_all().map_err(|source| UnpackError::File { path: self.into.join(name), source })
    }

    fn finish(mut self) -> Result<Restored, UnpackError> {
        self.start()?;
        self.close_file()?;
        self.write_batch()?;
        let Some(engine) = self.engine.take() else { return Err(UnpackError::CutOff) };
        if let Until::Position(wanted) = self.until
            && wanted > self.read.seq
        {
            return Err(UnpackError::TooLate { wanted, end: self.read.seq });
        }
        let head = self.kept;
        // The records up to the snapshot were all there, so it is reached.
        if engine.last_seq() != head.seq {
            return Err(UnpackError::Malformed("its snapshot is ahead of its journal"));
        }
        let bytes = state::encode(engine.state()).into();
        if head != Head::GENESIS {
            self.journal.save_snapshot(&Snapshot { head, bytes })?;
        }
        drop(self.journal);
        files::check_databases(&self.into)?;
        registry::put_back(&self.into, engine.state(), head.seq)?;
        let at = engine.state().event_time();
        Ok(Restored { first: self.base.seq.next(), head, at })
    }
}

fn chain(bytes: &[u8]) -> Result<Chain, UnpackError> {
    bytes
        .try_into()
        .map(Chain)
        .map_err(|_| UnpackError::Malformed("a hash of it has another length"))
}

fn shown(at: Timestamp) -> String {
    let micros = i64::try_from(at.0).unwrap_or(i64::MAX);
    jiff::Timestamp::from_microsecond(micros).map_or_else(|_| at.0.to_string(), |at| at.to_string())
}
