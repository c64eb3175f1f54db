//! Rows in the file.

use std::time::Duration;

use bellwether_core::model::{JobNo, JobSpec, Seq, WorkerNo};
use bellwether_wire::job::job_to_wire;
use bellwether_wire::v1;
use prost::Message as _;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use rustc_hash::FxHashMap;

use super::row::Row;
use crate::event_loop::clock;

/// A spec up to this size lies in the job's own row.
const SPEC_BYTES_INSIDE: usize = 2_048;
/// Ended jobs that one flush forgets at most, so that no flush takes long.
const FORGET_ROWS_MAX: u64 = 2_000;

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// How far the file goes: everything up to the first is written, and some up to the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) complete: Seq,
    pub(super) reached: Seq,
}

pub(super) fn position(connection: &Connection) -> rusqlite::Result<Position> {
    connection.query_row("SELECT seq, reached FROM position", [], |row| {
        let seq = |column| row.get::<_, i64>(column).map(|seq| Seq(seq.unsigned_abs()));
        Ok(Position { complete: seq(0)?, reached: seq(1)? })
    })
}

pub(super) fn save_position(connection: &Connection, position: Position) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE position SET seq = ?1, reached = ?2")?
        .execute([signed(position.complete.0), signed(position.reached.0)])
        .map(drop)
}

pub(super) fn exists(connection: &Connection, no: JobNo) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM jobs WHERE no = ?1")?.exists([signed(no.0)])
}

pub(super) fn id(connection: &Connection, no: JobNo) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT id FROM jobs WHERE no = ?1")?;
    statement.query_row([signed(no.0)], |row| row.get(0)).optional()
}

pub(super) fn workers(connection: &Connection) -> rusqlite::Result<FxHashMap<WorkerNo, String>> {
    let mut statement = connection.prepare("SELECT no, id FROM workers")?;
    let rows = statement.query_map([], |row| Ok((WorkerNo(row.get(0)?), row.get(1)?)))?;
    rows.collect()
}

pub(super) fn save_worker(connection: &Connection, no: WorkerNo, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO workers VALUES (?1, ?2)")?
        .execute(params![no.0, id])
        .map(drop)
}

/// The row without its spec.
pub(super) fn load(connection: &Connection, no: JobNo) -> rusqlite::Result<Option<Row>> {
    let mut statement = connection.prepare_cached("SELECT worker, body FROM jobs WHERE no = ?1")?;
    statement
        .query_row([signed(no.0)], |row| {
            Ok(Row {
                worker: row.get(0)?,
                job: decode(row.get_ref(1)?.as_blob()?)?,
                unwritten_spec: None,
                changed: false,
            })
        })
        .optional()
}

pub(super) fn decode<M: prost::Message + Default>(bytes: &[u8]) -> rusqlite::Result<M> {
    M::decode(bytes).map_err(|error| {
        let kind = rusqlite::types::Type::Blob;
        rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
    })
}

pub(super) fn save(connection: &Connection, no: JobNo, row: &Row) -> rusqlite::Result<()> {
    let number = signed(no.0);
    let job: &v1::Job = &row.job;
    if let Some(spec) = &row.unwritten_spec {
        return insert(connection, number, row, spec);
    }
    connection
        .prepare_cached(
            "UPDATE jobs SET state = ?2, worker = ?3, ended_at = ?4, body = ?5 WHERE no = ?1",
        )?
        .execute(params![number, job.state, row.worker, signed(job.ended_at), job.encode_to_vec(),])
        .map(drop)
}

fn insert(connection: &Connection, number: i64, row: &Row, spec: &JobSpec) -> rusqlite::Result<()> {
    let job: &v1::Job = &row.job;
    let encoded = job_to_wire(spec).encode_to_vec();
    let beside = if encoded.len() > SPEC_BYTES_INSIDE { None } else { Some(&encoded) };
    if beside.is_none() {
        connection
            .prepare_cached("INSERT OR REPLACE INTO specs VALUES (?1, ?2)")?
            .execute(params![number, encoded])?;
    }
    for tag in &spec.tags {
        connection
            .prepare_cached("INSERT OR IGNORE INTO tags VALUES (?1, ?2)")?
            .execute(params![tag.as_str(), number])?;
    }
    let body = job.encode_to_vec();
    let insert = || {
        let sql = "INSERT INTO jobs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        connection.prepare_cached(sql)?.execute(params![
            number,
            spec.id.as_str(),
            spec.kind().as_str(),
            job.run_id,
            job.state,
            row.worker,
            signed(job.submitted_at),
            signed(job.ended_at),
            body,
            beside,
        ])
    };
    // Not `OR REPLACE`, for which SQLite copies every page before it touches it. A row that is new is
    // new, but for one that was written just before a crash.
    match insert() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            connection.prepare_cached("DELETE FROM jobs WHERE no = ?1")?.execute([number])?;
            insert().map(drop)
        }
        inserted => inserted.map(drop),
    }
}

/// How much history is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub(super) jobs_max: u64,
    pub(super) keep_for: Duration,
}

impl Retention {
    pub(super) fn apply(self, connection: &Connection) -> rusqlite::Result<()> {
        // Numbers are given in order, so the span of them bounds the count without counting.
        // Each end is looked up by itself: asked for together, they would be searched for.
        let span =
            "SELECT coalesce((SELECT max(no) FROM jobs) - (SELECT min(no) FROM jobs) + 1, 0)";
        let span: i64 = connection.prepare_cached(span)?.query_row([], |row| row.get(0))?;
        let excess = span.unsigned_abs().saturating_sub(self.jobs_max).min(FORGET_ROWS_MAX);
        if excess > 0 {
            let oldest = "SELECT no FROM jobs WHERE ended_at > 0 ORDER BY ended_at LIMIT ?1";
            forget(connection, oldest, excess)?;
        }
        let keep_for = u64::try_from(self.keep_for.as_micros()).unwrap_or(u64::MAX);
        let before = clock::now().0.saturating_sub(keep_for);
        let aged = format!(
            "SELECT no FROM jobs WHERE ended_at > 0 AND ended_at < ?1 \
             ORDER BY ended_at LIMIT {FORGET_ROWS_MAX}"
        );
        forget(connection, &aged, before)
    }
}

fn forget(connection: &Connection, chosen: &str, argument: u64) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(chosen)?;
    let chosen: Vec<i64> = statement
        .query_map([signed(argument)], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for no in chosen {
        for table in ["jobs", "specs", "tags"] {
            let sql = format!("DELETE FROM {table} WHERE no = ?1");
            connection.prepare_cached(&sql)?.execute([no])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bellwether_core::model::{JobStatus, Name, Timestamp};

    use super::super::row::Fresh;
    use super::super::schema;
    use super::*;

    fn row(id: &str, at: u64) -> Row {
        let spec = Arc::new(JobSpec::new(Name::fixed(id), Name::fixed("t")));
        let status = JobStatus::Ready;
        let fresh = Fresh { spec, run: None, status, seq: Seq(1), at: Timestamp(at) };
        Row::of(JobNo(1), &fresh)
    }

    #[test]
    fn a_row_that_is_there_already_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let connection = schema::open(&dir.path().join("registry")).unwrap();
        save(&connection, JobNo(1), &row("a", 5)).unwrap();
        save(&connection, JobNo(1), &row("b", 6)).unwrap();
        assert_eq!(id(&connection, JobNo(1)).unwrap().as_deref(), Some("b"));
        assert_eq!(load(&connection, JobNo(1)).unwrap().unwrap().job.submitted_at, 6);
    }
}
