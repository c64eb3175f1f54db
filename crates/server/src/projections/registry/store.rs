//! Rows in the file.

use bellwether_core::model::limits::ACTORS_MAX;
use bellwether_core::model::{Actor, ActorNo, JobNo, Name, Seq, WorkerNo};
use bellwether_wire::job::job_to_wire;
use bellwether_wire::v1;
use prost::Message as _;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use rustc_hash::FxHashMap;

use super::partitions::Slot;
use super::row::{Kept, Row};
use super::schema::Home;

/// A spec up to this size lies in the job's own row, though that is written again and again.
const SPEC_BYTES_INSIDE: usize = 2_048;
/// Actors whose names are kept: those that were named last.
const ACTORS_KEPT: i64 = 100_000;

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

pub(super) fn actors(connection: &Connection) -> rusqlite::Result<FxHashMap<ActorNo, Name>> {
    let sql = "SELECT no, name FROM actors ORDER BY no DESC LIMIT ?1";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([ACTORS_MAX as i64], |row| {
        Ok((ActorNo(row.get(0)?), Name::new(&row.get::<_, String>(1)?).ok()))
    })?;
    rows.filter_map(|row| row.map(|(no, name)| Some((no, name?))).transpose()).collect()
}

pub(super) fn save_worker(connection: &Connection, no: WorkerNo, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO workers VALUES (?1, ?2)")?
        .execute(params![no.0, id])
        .map(drop)
}

/// Those who acted long ago are forgotten.
pub(super) fn save_actor(
    connection: &Connection,
    no: ActorNo,
    actor: &Actor,
) -> rusqlite::Result<()> {
    let peer = actor.peer.as_ref().map_or("", |peer| peer.as_str());
    connection
        .prepare_cached("INSERT OR REPLACE INTO actors VALUES (?1, ?2, ?3)")?
        .execute(params![no.0, actor.name.as_str(), peer])?;
    connection
        .prepare_cached("DELETE FROM actors WHERE no <= ?1")?
        .execute([i64::from(no.0) - ACTORS_KEPT])
        .map(drop)
}

/// The row without its spec.
pub(super) fn load(connection: &Connection, no: JobNo) -> rusqlite::Result<Option<Row>> {
    // First where nearly all are that something happens to.
    match load_from(connection, "live_jobs", no)? {
        Some(row) => Ok(Some(row)),
        None => load_from(connection, "ended_jobs", no),
    }
}

fn load_from(connection: &Connection, view: &str, no: JobNo) -> rusqlite::Result<Option<Row>> {
    let sql = format!("SELECT home, state, worker, body FROM {view} WHERE no = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    statement
        .query_row([signed(no.0)], |row| {
            let kept = match Slot::of_number(row.get(0)?) {
                Some(slot) => Kept::Ended { slot, state: row.get(1)? },
                None => Kept::Live,
            };
            let (worker, job) = (row.get(2)?, decode(row.get_ref(3)?.as_blob()?)?);
            Ok(Row { job, worker, kept, unwritten_since: None })
        })
        .optional()
}

pub(super) fn decode<M: prost::Message + Default>(bytes: &[u8]) -> rusqlite::Result<M> {
    M::decode(bytes).map_err(|error| {
        let kind = rusqlite::types::Type::Blob;
        rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
    })
}

/// Writes the row to where it belongs now, and takes it from where it was.
pub(super) fn save(
    connection: &Connection,
    no: JobNo,
    row: &Row,
    home: Home,
) -> rusqlite::Result<()> {
    let number = signed(no.0);
    let former = match &row.kept {
        Kept::Nowhere(spec) => return insert(connection, number, row, &job_to_wire(spec), home),
        Kept::Live if home == Home::Live => return update(connection, number, row),
        Kept::Live => Home::Live,
        Kept::Ended { slot, .. } => Home::Ended(*slot),
    };
    match take_out(connection, number, former)? {
        Some(spec) => insert(connection, number, row, &spec, home),
        None => Ok(()),
    }
}

/// Takes the row from where it lies.
pub(super) fn remove(connection: &Connection, no: JobNo, kept: &Kept) -> rusqlite::Result<()> {
    let home = match kept {
        Kept::Nowhere(_) => return Ok(()),
        Kept::Live => Home::Live,
        Kept::Ended { slot, .. } => Home::Ended(*slot),
    };
    take_out(connection, signed(no.0), home).map(drop)
}

fn update(connection: &Connection, number: i64, row: &Row) -> rusqlite::Result<()> {
    let job: &v1::Job = &row.job;
    connection
        .prepare_cached("UPDATE live SET state = ?2, worker = ?3, body = ?4 WHERE no = ?1")?
        .execute(params![number, job.state, row.worker, job.encode_to_vec()])
        .map(drop)
}

/// Removes the row, and returns what was submitted.
fn take_out(
    connection: &Connection,
    number: i64,
    home: Home,
) -> rusqlite::Result<Option<v1::JobSpec>> {
    let remove = |table: &str| {
        let sql = format!("DELETE FROM {table} WHERE no = ?1 RETURNING spec");
        let read = |row: &rusqlite::Row<'_>| {
            row.get_ref(0)?.as_blob_or_null()?.map(decode::<v1::JobSpec>).transpose()
        };
        connection.prepare_cached(&sql)?.query_row([number], read).optional()
    };
    let spec = match remove(&home.table())? {
        Some(Some(spec)) => Some(spec),
        // It lies apart.
        Some(None) => remove("specs")?.flatten(),
        None => None,
    };
    for tag in spec.iter().flat_map(|spec| &spec.tags) {
        connection
            .prepare_cached("DELETE FROM tags WHERE home = ?1 AND tag = ?2 AND no = ?3")?
            .execute(params![home.number(), tag, number])?;
    }
    Ok(spec)
}

fn insert(
    connection: &Connection,
    number: i64,
    row: &Row,
    spec: &v1::JobSpec,
    home: Home,
) -> rusqlite::Result<()> {
    let job: &v1::Job = &row.job;
    let encoded = spec.encode_to_vec();
    let apart = home == Home::Live && encoded.len() > SPEC_BYTES_INSIDE;
    if apart {
        connection
            .prepare_cached("INSERT OR REPLACE INTO specs VALUES (?1, ?2)")?
            .execute(params![number, encoded])?;
    }
    for tag in &spec.tags {
        connection
            .prepare_cached("INSERT OR IGNORE INTO tags VALUES (?1, ?2, ?3)")?
            .execute(params![home.number(), tag, number])?;
    }
    let kind = spec.requirements.as_ref().map_or("", |wanted| wanted.r#type.as_str());
    let body = job.encode_to_vec();
    let table = home.table();
    let insert = || {
        let sql = format!("INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)");
        connection.prepare_cached(&sql)?.execute(params![
            number,
            spec.id,
            kind,
            job.run_id,
            job.state,
            row.worker,
            signed(job.submitted_at),
            signed(job.ended_at),
            body,
            (!apart).then_some(&encoded),
        ])
    };
    // Not `OR REPLACE`, for which SQLite copies every page before it touches it. A row that is new is
    // new, but for one that was written just before a crash.
    match insert() {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            let sql = format!("DELETE FROM {table} WHERE no = ?1");
            connection.prepare_cached(&sql)?.execute([number])?;
            insert().map(drop)
        }
        inserted => inserted.map(drop),
    }
}
