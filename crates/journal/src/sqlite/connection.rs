//! The database: how it is opened, and its two tables.

use std::path::Path;

use bellwether_core::model::{Epoch, Seq};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, params};

use super::{SqliteOptions, signed};
use crate::chain::{Chain, Head};

pub(super) const FILE: &str = "journal.sqlite";

/// What is not a record. The check covers the rest of the row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Meta {
    pub(super) epoch: Epoch,
    pub(super) base: Head,
}

impl Meta {
    pub(super) fn with_base(self, base: Head) -> Meta {
        Meta { base, ..self }
    }

    fn check(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.epoch.0.to_le_bytes());
        hasher.update(&self.base.seq.0.to_le_bytes());
        hasher.update(&self.base.chain.0);
        hasher.finalize().into()
    }
}

pub(super) fn open(dir: &Path, options: SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open(dir.join(FILE))?;
    prepare(&connection)?;
    connection.pragma_update(None, "page_size", options.page_bytes)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // `Checkpoints` does it.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.execute_batch(
        "BEGIN IMMEDIATE;
         CREATE TABLE IF NOT EXISTS records (
             first INTEGER PRIMARY KEY, chain BLOB NOT NULL, bytes BLOB NOT NULL);
         CREATE TABLE IF NOT EXISTS meta (
             one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL,
             base INTEGER NOT NULL, base_chain BLOB NOT NULL, hash BLOB NOT NULL);
         COMMIT;",
    )?;
    let made: bool =
        connection.query_row("SELECT NOT EXISTS (SELECT 1 FROM meta)", [], |row| row.get(0))?;
    if made {
        write_meta(&connection, &Meta { epoch: Epoch(0), base: Head::GENESIS })?;
    }
    Ok(connection)
}

/// A second connection to a database that is open, to copy its log.
pub(super) fn open_beside(dir: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(dir.join(FILE), flags)?;
    prepare(&connection)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

pub(super) fn open_read_only(dir: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(dir.join(FILE), flags)?;
    prepare(&connection)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    // A journal that turns out to be damaged must be left exactly as it was found.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(std::time::Duration::from_secs(10))
}

pub(super) fn read_epoch(connection: &Connection) -> rusqlite::Result<Epoch> {
    let epoch: i64 =
        connection.prepare_cached("SELECT epoch FROM meta")?.query_row([], |row| row.get(0))?;
    Ok(Epoch(epoch as u64))
}

pub(super) fn read_meta(connection: &Connection) -> rusqlite::Result<Meta> {
    connection.query_row("SELECT epoch, base, base_chain, hash FROM meta", [], |row| {
        let epoch = Epoch(row.get::<_, i64>(0)? as u64);
        let base = Head { seq: Seq(row.get::<_, i64>(1)? as u64), chain: Chain(row.get(2)?) };
        let meta = Meta { epoch, base };
        if row.get::<_, [u8; 32]>(3)? == meta.check() {
            return Ok(meta);
        }
        let found = "its reign and base do not match their hash".to_owned();
        Err(rusqlite::Error::InvalidColumnType(3, found, rusqlite::types::Type::Blob))
    })
}

pub(super) fn write_meta(connection: &Connection, meta: &Meta) -> rusqlite::Result<()> {
    connection
        .execute(
            "INSERT OR REPLACE INTO meta (one, epoch, base, base_chain, hash)
             VALUES (1, ?1, ?2, ?3, ?4)",
            params![meta.epoch.0 as i64, signed(meta.base.seq), meta.base.chain.0, meta.check()],
        )
        .map(drop)
}

/// The head before the record that holds `seq`: the end of the last record whose entries all lie
/// before `seq`. None if there is no such record.
pub(super) fn head_before_holder(
    connection: &Connection,
    seq: Seq,
) -> rusqlite::Result<Option<Head>> {
    // The holder is the last record to start at or before it; the record before ends where the
    // holder starts.
    let holder: Option<i64> = connection.query_row(
        "SELECT max(first) FROM records WHERE first <= ?1",
        [signed(seq)],
        |row| row.get(0),
    )?;
    let Some(holder) = holder else { return Ok(None) };
    connection
        .query_row(
            "SELECT chain FROM records WHERE first < ?1 ORDER BY first DESC LIMIT 1",
            [holder],
            |row| Ok(Head { seq: Seq(holder as u64 - 1), chain: Chain(row.get(0)?) }),
        )
        .optional()
}
