//! The registry's file. It can be deleted: the journal and its snapshots give it back.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// A file of another version is made anew.
const VERSION: i64 = 4;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE jobs (
        no INTEGER PRIMARY KEY,
        id TEXT NOT NULL,
        kind TEXT NOT NULL,
        run_id TEXT NOT NULL,
        state INTEGER NOT NULL,
        worker TEXT NOT NULL,
        submitted_at INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        body BLOB NOT NULL,
        spec BLOB
    );
    CREATE INDEX jobs_by_id ON jobs (id);
    -- Nearly all jobs complete, and those need no index to be found.
    CREATE INDEX jobs_by_state ON jobs (state) WHERE state <> 6;
    CREATE INDEX jobs_by_kind ON jobs (kind);
    CREATE INDEX jobs_by_run ON jobs (run_id) WHERE run_id <> '';
    CREATE INDEX jobs_of_runs ON jobs (no) WHERE run_id <> '';
    CREATE INDEX jobs_by_end ON jobs (ended_at) WHERE ended_at > 0;
    -- Large specs lie apart, because they never change and the row does.
    CREATE TABLE specs (no INTEGER PRIMARY KEY, spec BLOB NOT NULL);
    CREATE TABLE tags (tag TEXT NOT NULL, no INTEGER NOT NULL, PRIMARY KEY (tag, no)) WITHOUT ROWID;
    CREATE TABLE workers (no INTEGER PRIMARY KEY, id TEXT NOT NULL);
    -- Everything up to `seq` is written; some of what came after, up to `reached`, is, too.
    CREATE TABLE position (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL,
        reached INTEGER NOT NULL
    );
    INSERT INTO position VALUES (1, 0, 0);
";

pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A crash may cost the last flushes, which the journal still has.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    connection.set_prepared_statement_cache_capacity(64);
    if connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))? != VERSION {
        create(&connection)?;
    }
    Ok(connection)
}

pub(super) fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Forgets everything.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let drop = ["jobs", "specs", "tags", "workers", "position"]
        .map(|table| format!("DROP TABLE IF EXISTS {table};"))
        .concat();
    connection.execute_batch(&format!(
        "BEGIN IMMEDIATE; {drop} {TABLES} PRAGMA user_version = {VERSION}; COMMIT"
    ))
}
