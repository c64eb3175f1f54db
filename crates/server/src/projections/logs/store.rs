//! The file: of each attempt its beginning and its end, and of jobs those that printed last.

use std::path::Path;
use std::time::{Duration, SystemTime};

use bellwether_core::model::Seq;
use bellwether_wire::private::make_folder;
use bellwether_wire::v1;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, Transaction, params};
use rustc_hash::FxHashMap;

use crate::config::LogLimits;

const VERSION: i64 = 1;
const INCREMENTAL: i64 = 2;
const PAGE_BYTES: i64 = 8_192;
/// Bytes of the write-ahead log that are kept between writes.
const LOG_BYTES_KEPT: i64 = 4 << 20;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of one row.
const PIECE_BYTES_MAX: usize = 16 << 10;
/// What a row costs besides its bytes.
const PIECE_OVERHEAD: u64 = 64;
/// Attempts whose figures are kept in memory.
const FIGURES_MAX: usize = 10_000;
/// Rows that one look gives at most.
const READ_PIECES_MAX: usize = 64;
/// When an attempt last printed something is known to the second.
const TOUCH_MICROS: i64 = 1_000_000;
/// Where there is too much, jobs are forgotten down to this share, so that it is not done for each.
const ENOUGH_ROOM_PERCENT: u64 = 95;
/// Free pages that are given back at a time.
const VACUUM_PAGES: u32 = 2_048;

const TABLES: &str = "
    CREATE TABLE attempts (
        no INTEGER PRIMARY KEY,
        token INTEGER NOT NULL,
        worker TEXT NOT NULL,
        job INTEGER NOT NULL,
        -- Bytes of its beginning, and of its end, that are kept.
        head INTEGER NOT NULL,
        tail INTEGER NOT NULL,
        -- The first piece of its end; 0 if there is none.
        tail_from INTEGER NOT NULL,
        -- The position that its output has reached.
        reached INTEGER NOT NULL,
        touched INTEGER NOT NULL,
        UNIQUE (token, worker)
    );
    CREATE INDEX attempts_by_job ON attempts (job);
    CREATE INDEX attempts_by_touch ON attempts (touched);
    CREATE TABLE pieces (
        id INTEGER PRIMARY KEY,
        attempt INTEGER NOT NULL,
        position INTEGER NOT NULL,
        stream INTEGER NOT NULL,
        at INTEGER NOT NULL,
        data BLOB NOT NULL
    );
    CREATE INDEX pieces_by_attempt ON pieces (attempt, id);
";

/// A piece that was kept. Whether its worker held that attempt is for the reader to check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kept {
    /// Grows; where to read on.
    pub(crate) id: u64,
    pub(crate) token: u64,
    pub(crate) worker: String,
    pub(crate) position: u64,
    pub(crate) stream: i32,
    pub(crate) at: u64,
    pub(crate) data: Vec<u8>,
}

/// By token and worker, where the output of an attempt ends.
pub(crate) type Ends = FxHashMap<(u64, String), u64>;

#[derive(Debug)]
pub(super) struct Store {
    connection: Connection,
    limits: LogLimits,
    figures: FxHashMap<(u64, String), Figures>,
    next_piece: i64,
    next_attempt: i64,
}

/// What is kept of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Figures {
    no: i64,
    head: u64,
    tail: u64,
    tail_from: i64,
    reached: u64,
    touched: i64,
}

impl Store {
    /// A file that can't be read is set aside: better to lose what was printed than what will be.
    pub(super) fn open(path: &Path, limits: LogLimits, head: Seq) -> rusqlite::Result<Store> {
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|error| cant_open(&error))?;
        }
        let connection = match open(path) {
            Ok(connection) => connection,
            Err(error) => {
                if is_damage(&error) {
                    set_aside(path);
                }
                open(path)?
            }
        };
        let highest = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        let next_piece = highest("SELECT coalesce(max(id), 0) + 1 FROM pieces")?;
        let next_attempt = highest("SELECT coalesce(max(no), 0) + 1 FROM attempts")?;
        let figures = FxHashMap::default();
        let mut store = Store { connection, limits, figures, next_piece, next_attempt };
        store.forget_after(head)?;
        Ok(store)
    }

    /// All of it, or nothing.
    pub(super) fn keep<'a>(
        &mut self,
        chunks: impl Iterator<Item = (&'a str, &'a v1::LogChunk)>,
    ) -> rusqlite::Result<()> {
        if self.figures.len() > FIGURES_MAX {
            self.figures.clear();
        }
        let Store { connection, limits, figures, next_piece, next_attempt } = self;
        let transaction = connection.transaction()?;
        let now = now_micros();
        let mut changed: FxHashMap<(u64, String), Figures> = FxHashMap::default();
        for (worker, chunk) in chunks {
            let key = (chunk.token, worker.to_owned());
            let known = changed.get(&key).or_else(|| figures.get(&key)).copied();
            let mut attempt = match known {
                Some(known) => known,
                None => find_or_begin(&transaction, &key, chunk.job, next_attempt, now)?,
            };
            attempt.keep(&transaction, chunk, limits.attempt_bytes_max, next_piece)?;
            changed.insert(key, attempt);
        }
        for (key, mut attempt) in changed {
            if now - attempt.touched > TOUCH_MICROS {
                attempt.touched = now;
            }
            attempt.save(&transaction)?;
            figures.insert(key, attempt);
        }
        if make_room(&transaction, limits.total_bytes_max)? {
            figures.clear();
        }
        transaction.commit()?;
        give_back(connection)
    }

    /// An older journal was put back: what was printed after it has not happened.
    fn forget_after(&mut self, head: Seq) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        let head = signed(head.0);
        transaction.execute(
            "DELETE FROM pieces WHERE attempt IN (SELECT no FROM attempts WHERE token > ?1)",
            [head],
        )?;
        transaction.execute("DELETE FROM attempts WHERE token > ?1", [head])?;
        transaction.commit()
    }
}

impl Figures {
    fn keep(
        &mut self,
        transaction: &Transaction<'_>,
        chunk: &v1::LogChunk,
        bytes_max: u64,
        next_piece: &mut i64,
    ) -> rusqlite::Result<()> {
        // What is here already was sent again.
        let begin = chunk.position.unwrap_or(self.reached);
        let end = begin.saturating_add(chunk.data.len() as u64);
        let seen = self.reached.saturating_sub(begin);
        if end < self.reached || (end == self.reached && !chunk.data.is_empty()) {
            return Ok(());
        }
        let seen = usize::try_from(seen).unwrap_or(usize::MAX).min(chunk.data.len());
        let mut position = begin.max(self.reached);
        let fresh = &chunk.data[seen..];
        // An empty one says that what came before it was cut.
        let last = fresh.is_empty().then_some(fresh);
        for data in fresh.chunks(PIECE_BYTES_MAX).chain(last) {
            let id = *next_piece;
            *next_piece += 1;
            transaction
                .prepare_cached("INSERT INTO pieces VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
                .execute(params![
                    id,
                    self.no,
                    signed(position),
                    chunk.stream,
                    signed(chunk.at),
                    data
                ])?;
            position += data.len() as u64;
            let cost = data.len() as u64 + PIECE_OVERHEAD;
            if self.tail_from == 0 && self.head + cost <= bytes_max / 2 {
                self.head += cost;
            } else {
                self.tail += cost;
                self.tail_from = if self.tail_from == 0 { id } else { self.tail_from };
            }
        }
        self.reached = end;
        self.cut(transaction, bytes_max / 2)
    }

    /// Of the end the oldest pieces go.
    fn cut(&mut self, transaction: &Transaction<'_>, tail_max: u64) -> rusqlite::Result<()> {
        while self.tail > tail_max {
            let mut oldest = transaction.prepare_cached(
                "SELECT id, length(data) FROM pieces WHERE attempt = ?1 AND id >= ?2 \
                 ORDER BY id LIMIT 2",
            )?;
            let rows = oldest.query_map([self.no, self.tail_from], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            let rows: Vec<(i64, u64)> = rows.collect::<rusqlite::Result<_>>()?;
            let [(id, bytes), (next, _)] = rows[..] else { break };
            transaction.prepare_cached("DELETE FROM pieces WHERE id = ?1")?.execute([id])?;
            self.tail = self.tail.saturating_sub(bytes + PIECE_OVERHEAD);
            self.tail_from = next;
        }
        Ok(())
    }

    fn save(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction
            .prepare_cached(
                "UPDATE attempts SET head = ?2, tail = ?3, tail_from = ?4, reached = ?5, \
                 touched = ?6 WHERE no = ?1",
            )?
            .execute(params![
                self.no,
                signed(self.head),
                signed(self.tail),
                self.tail_from,
                signed(self.reached),
                self.touched
            ])
            .map(drop)
    }
}

fn find_or_begin(
    transaction: &Transaction<'_>,
    (token, worker): &(u64, String),
    job: u64,
    next: &mut i64,
    now: i64,
) -> rusqlite::Result<Figures> {
    let unsigned =
        |row: &rusqlite::Row<'_>, column| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let found = transaction
        .prepare_cached(
            "SELECT no, head, tail, tail_from, reached, touched FROM attempts \
             WHERE token = ?1 AND worker = ?2",
        )?
        .query_row(params![signed(*token), worker], |row| {
            Ok(Figures {
                no: row.get(0)?,
                head: unsigned(row, 1)?,
                tail: unsigned(row, 2)?,
                tail_from: row.get(3)?,
                reached: unsigned(row, 4)?,
                touched: row.get(5)?,
            })
        })
        .optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    let no = *next;
    *next += 1;
    transaction
        .prepare_cached("INSERT INTO attempts VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, ?5)")?
        .execute(params![no, signed(*token), worker, signed(job), now])?;
    Ok(Figures { no, head: 0, tail: 0, tail_from: 0, reached: 0, touched: now })
}

/// Forgets all output of the jobs that printed something longest ago. Says whether there were any.
fn make_room(transaction: &Transaction<'_>, bytes_max: u64) -> rusqlite::Result<bool> {
    if used_bytes(transaction)? <= bytes_max {
        return Ok(false);
    }
    while used_bytes(transaction)? > bytes_max / 100 * ENOUGH_ROOM_PERCENT {
        let oldest: Option<i64> = transaction
            .prepare_cached("SELECT job FROM attempts ORDER BY touched, no LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()?;
        let Some(job) = oldest else { break };
        transaction
            .prepare_cached(
                "DELETE FROM pieces WHERE attempt IN (SELECT no FROM attempts WHERE job = ?1)",
            )?
            .execute([job])?;
        transaction.prepare_cached("DELETE FROM attempts WHERE job = ?1")?.execute([job])?;
    }
    Ok(true)
}

fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pages = number(connection, "page_count")? - number(connection, "freelist_count")?;
    Ok((pages * PAGE_BYTES).unsigned_abs())
}

/// Returns free space to the disk where it is much.
fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    let (pages, free) = (number(connection, "page_count")?, number(connection, "freelist_count")?);
    if free > i64::from(VACUUM_PAGES) && free > pages / 4 {
        connection.execute_batch(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
    }
    Ok(())
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// A file that can't be read makes room for a new one.
pub(super) fn set_aside(path: &Path) {
    match std::fs::rename(path, path.with_extension("damaged")) {
        Ok(()) => tracing::warn!("the output of jobs is damaged, and set aside"),
        Err(error) => tracing::warn!(%error, "the output of jobs is damaged"),
    }
}

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "auto_vacuum", INCREMENTAL)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "journal_size_limit", LOG_BYTES_KEPT)?;
    // A power cut may cost the last seconds of output; a crash of the process costs nothing.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -4_096)?;
    connection.set_prepared_statement_cache_capacity(32);
    if number(&connection, "user_version")? != VERSION {
        connection.execute_batch("DROP TABLE IF EXISTS attempts; DROP TABLE IF EXISTS pieces;")?;
        connection.execute_batch(TABLES)?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    Ok(connection)
}

pub(super) fn open_for_reading(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

pub(super) fn read(connection: &Connection, job: u64, after: u64) -> rusqlite::Result<Vec<Kept>> {
    if number(connection, "user_version")? != VERSION {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(&format!(
        "SELECT id, token, worker, position, stream, at, data \
         FROM attempts JOIN pieces ON attempt = no \
         WHERE job = ?1 AND id > ?2 ORDER BY id LIMIT {READ_PIECES_MAX}"
    ))?;
    let unsigned =
        |row: &rusqlite::Row<'_>, column| row.get::<_, i64>(column).map(i64::unsigned_abs);
    let rows = statement.query_map([signed(job), signed(after)], |row| {
        Ok(Kept {
            id: unsigned(row, 0)?,
            token: unsigned(row, 1)?,
            worker: row.get(2)?,
            position: unsigned(row, 3)?,
            stream: row.get(4)?,
            at: unsigned(row, 5)?,
            data: row.get(6)?,
        })
    })?;
    rows.collect()
}

pub(super) fn ends(connection: &Connection, job: u64, up_to: u64) -> rusqlite::Result<Ends> {
    if number(connection, "user_version")? != VERSION {
        return Ok(Ends::default());
    }
    let mut statement = connection.prepare(
        "SELECT token, worker, max(position + length(data)) \
         FROM attempts JOIN pieces ON attempt = no \
         WHERE job = ?1 AND id <= ?2 GROUP BY no",
    )?;
    let rows = statement.query_map([signed(job), signed(up_to)], |row| {
        let (token, end): (i64, i64) = (row.get(0)?, row.get(2)?);
        Ok(((token.unsigned_abs(), row.get(1)?), end.unsigned_abs()))
    })?;
    rows.collect()
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn now_micros() -> i64 {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since_epoch.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

fn cant_open(error: &std::io::Error) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
}
