//! The journal on SQLite, in a data directory that one scheduler owns.
//!
//! One row a record, one commit an append; WAL with a sync at every commit. SQLite cuts a torn
//! commit off by itself. It cuts a damaged one off just the same, with all that follows, so what it
//! gives is compared with a witness of the last acknowledged position.

mod checkpoint;
mod connection;
mod failure;
mod log_copier;
mod reader;

use std::fs;
use std::path::{Path, PathBuf};

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use rusqlite::{Connection, params};

use crate::chain::Head;
use crate::copy::{Copied, TakesCopies, latest_epoch};
use crate::disk::lock::DirectoryLock;
use crate::disk::refuse_unless_empty;
use crate::disk::snapshots::SnapshotFiles;
use crate::disk::witness::{Testimony, Witness};
use crate::journal::{
    AppendError, Journal, OpenError, ReadError, Reader, Records, TruncateError, check_position,
};
use crate::recorder::Recorder;
use crate::snapshot::{Snapshot, Snapshots};
use checkpoint::{Checkpoints, StartError};
use connection::Meta;
use failure::{append_error, open_error};
pub use log_copier::LogCopier;
use reader::SqliteReader;

#[derive(Debug, Clone, Copy)]
pub struct SqliteOptions {
    /// Of a database that is created.
    pub page_bytes: u32,
    /// Pages in the log, about, at which it is copied into the database.
    pub checkpoint_pages: u32,
}

impl Default for SqliteOptions {
    fn default() -> SqliteOptions {
        SqliteOptions { page_bytes: 4096, checkpoint_pages: 4_000 }
    }
}

#[derive(Debug)]
pub struct SqliteJournal {
    epoch: Epoch,
    recorder: Recorder,
    witness: Witness,
    reader: SqliteReader,
    checkpoints: Checkpoints,
    dir: PathBuf,
    lock: DirectoryLock,
}

impl SqliteJournal {
    /// Does the directory hold such a journal?
    pub fn is_in(dir: &Path) -> bool {
        dir.join(connection::FILE).exists()
    }

    /// Opens the journal in the directory, or makes both; verifies all of it and takes a new epoch.
    pub fn open(dir: &Path, options: SqliteOptions) -> Result<SqliteJournal, OpenError> {
        fs::create_dir_all(dir)?;
        let lock = DirectoryLock::take(dir)?;
        let mut witness = Witness::open(dir)?;
        let connection =
            connection::open(dir, options).map_err(|error| open_error(Seq(1), error))?;
        let reader = SqliteReader::new(connection, dir);
        let head = reader.verify(&Testimony::hear(dir)?)?;
        let epoch = take_epoch(reader.connection(), reader.meta()?)
            .map_err(|error| open_error(head.seq.next(), error))?;
        witness.note(head);
        let checkpoints = Checkpoints::start(dir, options).map_err(|error| match error {
            StartError::Open(error) => open_error(head.seq.next(), error),
            StartError::Thread(error) => OpenError::Io(error),
        })?;
        Ok(SqliteJournal {
            epoch,
            recorder: Recorder::new(head),
            witness,
            reader,
            checkpoints,
            dir: dir.to_owned(),
            lock,
        })
    }

    /// Begins a journal in an empty directory with this state, as if everything before it had been
    /// truncated.
    pub fn begin_at(
        dir: &Path,
        snapshot: &Snapshot,
        options: SqliteOptions,
    ) -> Result<(), OpenError> {
        Self::begin_empty(dir, snapshot.head, options)?;
        SnapshotFiles::new(dir).save(snapshot)?;
        Ok(())
    }

    /// Begins a journal without records in an empty directory, as if everything before `base` had been
    /// truncated. Unless that is the very beginning it can be used once there is a snapshot.
    pub fn begin_empty(dir: &Path, base: Head, options: SqliteOptions) -> Result<(), OpenError> {
        fs::create_dir_all(dir)?;
        let _lock = DirectoryLock::take(dir)?;
        refuse_unless_empty(dir)?;
        let meta = Meta { epoch: Epoch(0), base };
        connection::open(dir, options)
            .and_then(|connection| connection::write_meta(&connection, &meta))
            .map_err(|error| open_error(base.seq, error))?;
        Witness::open(dir)?.note(base);
        Ok(())
    }

    /// Looks at the journal in the directory without changing it, whether or not a scheduler runs
    /// on it.
    pub fn inspect(dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        let connection = connection::open_read_only(dir).map_err(|e| open_error(Seq(1), e))?;
        let reader = SqliteReader::new(connection, dir);
        reader.verify(&Testimony::hear(dir)?)?;
        Ok(Box::new(reader))
    }

    /// Like [`SqliteJournal::inspect`], without reading everything first: damage is met where it is.
    pub fn look(dir: &Path) -> Result<Box<dyn Reader>, OpenError> {
        let connection = connection::open_read_only(dir).map_err(|e| open_error(Seq(1), e))?;
        Ok(Box::new(SqliteReader::new(connection, dir)))
    }

    fn insert(&mut self, epoch: Epoch, entries: &[Entry]) -> Result<Head, AppendError> {
        let first = entries[0].seq;
        let draft = self.recorder.draft(epoch, entries);
        let (bytes, head) = (draft.bytes, draft.head);
        let length = bytes.len();
        let connection = self.reader.connection();
        in_transaction(connection, self.epoch, || {
            connection
                .prepare_cached("INSERT INTO records (first, chain, bytes) VALUES (?1, ?2, ?3)")?
                .execute(params![signed(first), head.chain.0, bytes])
                .map(drop)
        })?;
        self.recorder.accept(head);
        self.checkpoints.committed(length, self.reader.connection())?;
        Ok(head)
    }
}

impl Journal for SqliteJournal {
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn head(&self) -> Head {
        self.recorder.head()
    }

    fn append(
        &mut self,
        epoch: Epoch,
        expected: Seq,
        entries: &[Entry],
    ) -> Result<Head, AppendError> {
        if epoch != self.epoch {
            return Err(AppendError::Fenced { current: self.epoch });
        }
        check_position(self.head(), expected, entries)?;
        if entries.is_empty() {
            return Ok(self.head());
        }
        let head = self.insert(epoch, entries)?;
        self.lock.check()?;
        self.witness.note(head);
        Ok(head)
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        let connection = connection::open_read_only(&self.dir)
            .map_err(|error| failure::read_error(self.head().seq, error))?;
        Ok(Box::new(SqliteReader::new(connection, &self.dir)))
    }

    fn truncate_before(&mut self, seq: Seq) -> Result<(), TruncateError> {
        let files = SnapshotFiles::new(&self.dir);
        let latest = files.positions().map_err(crate::snapshot::SnapshotError::Io)?.pop();
        if latest.is_none_or(|latest| latest.next() < seq) {
            return Err(TruncateError::NoSnapshot { before: seq });
        }
        let connection = self.reader.connection();
        let Some(base) =
            connection::head_before_holder(connection, seq).map_err(|e| append_error(&e))?
        else {
            return Ok(());
        };
        in_transaction(connection, self.epoch, || {
            let meta = connection::read_meta(connection)?.with_base(base);
            connection.execute("DELETE FROM records WHERE first <= ?1", [signed(base.seq)])?;
            connection::write_meta(connection, &meta)
        })?;
        Ok(files.journal_begins(base.seq).map_err(crate::snapshot::SnapshotError::Io)?)
    }
}

impl TakesCopies for SqliteJournal {
    fn take_copies(&mut self, records: &[Copied]) -> Result<(), AppendError> {
        let Some(last) = records.last() else { return Ok(()) };
        let connection = self.reader.connection();
        let epoch = self.epoch.max(latest_epoch(records));
        in_transaction(connection, self.epoch, || {
            let mut insert = connection
                .prepare_cached("INSERT INTO records (first, chain, bytes) VALUES (?1, ?2, ?3)")?;
            for Copied { record, bytes } in records {
                insert.execute(params![signed(record.first()), record.chain.0, &bytes[..]])?;
            }
            let meta = connection::read_meta(connection)?;
            connection::write_meta(connection, &Meta { epoch, ..meta })
        })?;
        self.epoch = epoch;
        let head = last.record.head();
        self.recorder.accept(head);
        self.witness.note(head);
        let length = records.iter().map(|copied| copied.bytes.len()).sum();
        self.checkpoints.committed(length, self.reader.connection())?;
        Ok(())
    }
}

impl Reader for SqliteJournal {
    fn base(&self) -> Result<Head, ReadError> {
        self.reader.base()
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.reader.read(from)
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        self.reader.snapshots()
    }
}

/// Runs the work in one transaction of this reign: refused if another has begun, undone if it fails.
fn in_transaction(
    connection: &Connection,
    epoch: Epoch,
    work: impl FnOnce() -> rusqlite::Result<()>,
) -> Result<(), AppendError> {
    let run = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    run("BEGIN IMMEDIATE").map_err(|error| append_error(&error))?;
    let result = connection::read_epoch(connection)
        .map_err(|error| append_error(&error))
        .and_then(
            |current| {
                if current == epoch { Ok(()) } else { Err(AppendError::Fenced { current }) }
            },
        )
        .and_then(|()| work().and_then(|()| run("COMMIT")).map_err(|error| append_error(&error)));
    if result.is_err() && !connection.is_autocommit() {
        run("ROLLBACK").map_err(|error| append_error(&error))?;
    }
    result
}

fn take_epoch(connection: &Connection, meta: Meta) -> rusqlite::Result<Epoch> {
    let epoch = meta.epoch.next();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    connection::write_meta(connection, &Meta { epoch, ..meta })?;
    connection.execute_batch("COMMIT")?;
    Ok(epoch)
}

/// SQLite's integers are signed; positions stay far below the limit.
fn signed(seq: Seq) -> i64 {
    i64::try_from(seq.0).expect("positions fit 63 bits")
}
