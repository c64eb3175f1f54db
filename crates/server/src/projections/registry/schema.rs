//! The registry's file. It can be deleted: the journal and its snapshots give it back.
//!
//! Jobs that have not ended are in one table, which is written again and again. A job that has ended
//! lies in one of several partitions, tables of the same form that are emptied as a whole: to delete
//! their rows one by one costs more than to write them did.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::migrate;
use super::partitions::{Retention, Slot};

/// A file of another version is made anew, but for the one before, which is carried over.
const VERSION: i64 = 5;
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Of a new file. A row takes a fifth less time to write than on the usual 4 KiB.
const PAGE_BYTES: i64 = 16 << 10;
/// Pages that gather in the log before they are copied into the file.
pub(super) const LOG_PAGES: i64 = 2_000;
/// What the log may keep of the disk once it has been copied into the file.
const LOG_BYTES_KEPT: i64 = 64 << 20;
/// Pages that a reader keeps, in KiB. The system keeps them, too.
const READER_KIBIBYTES: i64 = 512;
/// A statement over all partitions takes tens of kilobytes.
const READER_STATEMENTS: usize = 16;
/// What `PRAGMA auto_vacuum` answers where the file can give back space piece by piece.
const INCREMENTAL: i64 = 2;

const COLUMNS: &str = "no, id, kind, run_id, state, worker, submitted_at, ended_at, body";

const TABLES: &str = "
    -- Large specs of jobs that have not ended lie apart, because they never change and the row does.
    CREATE TABLE specs (no INTEGER PRIMARY KEY, spec BLOB NOT NULL);
    CREATE TABLE tags (
        home INTEGER NOT NULL, tag TEXT NOT NULL, no INTEGER NOT NULL,
        PRIMARY KEY (home, tag, no)
    ) WITHOUT ROWID;
    CREATE TABLE workers (no INTEGER PRIMARY KEY, id TEXT NOT NULL);
    CREATE TABLE partitions (
        slot INTEGER PRIMARY KEY,
        opened INTEGER NOT NULL,
        first_ended_at INTEGER NOT NULL,
        last_ended_at INTEGER NOT NULL
    );
    CREATE TABLE ended_counts (
        slot INTEGER NOT NULL, state INTEGER NOT NULL, count INTEGER NOT NULL,
        PRIMARY KEY (slot, state)
    ) WITHOUT ROWID;
    -- Everything up to `seq` is written; some of what came after, up to `reached`, is, too.
    CREATE TABLE position (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        seq INTEGER NOT NULL,
        reached INTEGER NOT NULL
    );
    INSERT INTO position VALUES (1, 0, 0);
";

/// Files of before there were actors have none.
const ACTORS_TABLE: &str = "CREATE TABLE IF NOT EXISTS actors (
    no INTEGER PRIMARY KEY, name TEXT NOT NULL, peer TEXT NOT NULL
)";

/// Where a job's row lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Live,
    Ended(Slot),
}

impl Home {
    pub(super) fn all() -> impl Iterator<Item = Home> {
        std::iter::once(Home::Live).chain(Slot::all().map(Home::Ended))
    }

    pub(super) fn number(self) -> u8 {
        match self {
            Home::Live => 0,
            Home::Ended(slot) => slot.number(),
        }
    }

    pub(super) fn table(self) -> String {
        match self {
            Home::Live => "live".to_owned(),
            Home::Ended(slot) => format!("ended_{}", slot.number()),
        }
    }
}

pub(super) fn open(path: &Path, retention: Retention) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    // A crash may cost the last writes, which the journal still has.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -8_192)?;
    // [`LogCopier`](bellwether_journal::sqlite::LogCopier) does it: whoever asks would have to wait
    // for tens of milliseconds otherwise, every second under load.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    connection.set_prepared_statement_cache_capacity(128);
    match number(&connection, "user_version")? {
        VERSION => {}
        migrate::FORMER => migrate::carry_over(&connection, retention)?,
        _ => create(&connection)?,
    }
    connection.execute_batch(ACTORS_TABLE)?;
    add_indexes(&connection)?;
    if number(&connection, "auto_vacuum")? != INCREMENTAL {
        // A file of before it gave back space learns to while it is written anew.
        connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
        connection.execute_batch("VACUUM")?;
    }
    Ok(connection)
}

/// A second connection to a file that is open, to copy its log.
pub(super) fn open_beside(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    Ok(connection)
}

/// Pages of the log that are not copied into the file.
pub(super) fn log_pages(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| {
        Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?)
    })
}

pub(super) fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cache_size", -READER_KIBIBYTES)?;
    connection.set_prepared_statement_cache_capacity(READER_STATEMENTS);
    Ok(connection)
}

pub(super) fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

/// Forgets everything.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    let mut statement = transaction.prepare(
        "SELECT type, name FROM sqlite_schema \
         WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'",
    )?;
    let drop_of = |row: &rusqlite::Row<'_>| {
        Ok(format!("DROP {} {};", row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    };
    let drops = statement.query_map([], drop_of)?.collect::<rusqlite::Result<String>>()?;
    drop(statement);
    transaction.execute_batch(&drops)?;
    create_tables(&transaction)?;
    transaction.execute_batch(ACTORS_TABLE)?;
    transaction.commit()
}

/// In a file that has none of them.
pub(super) fn create_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    for home in Home::all() {
        connection.execute_batch(&jobs_table(&home.table()))?;
    }
    add_indexes(connection)?;
    let spec = "coalesce(spec, (SELECT spec FROM specs WHERE specs.no = live.no)) AS spec";
    let live = format!("SELECT 0 AS home, {COLUMNS}, {spec} FROM live");
    let ended = Slot::all().map(|slot| {
        let table = Home::Ended(slot).table();
        format!("SELECT {} AS home, {COLUMNS}, spec FROM {table}", slot.number())
    });
    let ended = ended.collect::<Vec<_>>().join(" UNION ALL ");
    connection.execute_batch(&format!(
        "CREATE VIEW jobs AS {live} UNION ALL {ended};
         CREATE VIEW live_jobs AS {live};
         CREATE VIEW ended_jobs AS {ended};
         PRAGMA user_version = {VERSION};"
    ))
}

/// Those that files of before them get when they are opened.
fn add_indexes(connection: &Connection) -> rusqlite::Result<()> {
    for home in Home::all() {
        let table = home.table();
        connection.execute_batch(&format!(
            "CREATE INDEX IF NOT EXISTS {table}_by_kind ON {table} (kind)"
        ))?;
    }
    index_workers(connection, Home::Live)?;
    let mut full = connection.prepare(
        "SELECT slot FROM partitions
         WHERE opened > 0 AND opened < (SELECT max(opened) FROM partitions)",
    )?;
    let full = full.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<u8>>>()?;
    let full = full.into_iter().filter_map(Slot::of_number);
    full.map(Home::Ended).try_for_each(|home| index_workers(connection, home))
}

/// The index by worker is made once a partition is full. To keep it up to date while it is filled would
/// cost more than half as much again as all else that is written, a page for each worker in every batch.
pub(super) fn index_workers(connection: &Connection, home: Home) -> rusqlite::Result<()> {
    let table = home.table();
    connection.execute_batch(&format!(
        "CREATE INDEX IF NOT EXISTS {table}_by_worker ON {table} (worker) WHERE worker <> ''"
    ))
}

/// Of a partition that is filled anew.
pub(super) fn drop_workers_index(connection: &Connection, home: Home) -> rusqlite::Result<()> {
    connection.execute_batch(&format!("DROP INDEX IF EXISTS {}_by_worker", home.table()))
}

/// The homes that have one.
pub(super) fn homes_by_worker(connection: &Connection) -> rusqlite::Result<Vec<Home>> {
    let mut found = Vec::new();
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for home in Home::all() {
        if statement.exists([format!("{}_by_worker", home.table())])? {
            found.push(home);
        }
    }
    Ok(found)
}

fn jobs_table(table: &str) -> String {
    format!(
        "CREATE TABLE {table} (
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
        CREATE INDEX {table}_by_id ON {table} (id);
        -- Nearly all jobs complete, and those need no index to be found.
        CREATE INDEX {table}_by_state ON {table} (state) WHERE state <> 6;
        CREATE INDEX {table}_by_run ON {table} (run_id) WHERE run_id <> '';
        CREATE INDEX {table}_of_runs ON {table} (no, run_id) WHERE run_id <> '';"
    )
}
