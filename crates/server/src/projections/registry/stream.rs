//! Attempts by the time at which they ran, for those who want to see what each worker did when.

use bellwether_wire::v1;
use rusqlite::{Connection, params};

use super::lead::first_since;
use super::query::{QueryError, whole};
use super::schema::Home;
use super::search::newest_number;
use super::store::signed;

/// Jobs that are looked at for one answer, so that each takes a few milliseconds; whoever wants more asks
/// on where it ended.
const JOBS_AT_A_TIME: u64 = 5_000;

/// Times are microseconds since 1970; 0 is any.
#[derive(Debug, Clone, Default)]
pub(crate) struct AttemptsWanted {
    pub(crate) worker: String,
    pub(crate) after: u64,
    pub(crate) before: u64,
    /// Jobs below this number; 0: all.
    pub(crate) cursor: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct PastAttempt {
    pub(crate) job: String,
    pub(crate) kind: String,
    /// From 1 on.
    pub(crate) number: u32,
    pub(crate) attempt: v1::AttemptView,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct PastAttempts {
    pub(crate) attempts: Vec<PastAttempt>,
    /// Where to go on; none if there are no more.
    pub(crate) next: Option<u64>,
}

/// The newest jobs first. `PastAttempts::next` may follow on an answer without attempts.
pub(super) fn attempts(
    connection: &Connection,
    wanted: &AttemptsWanted,
) -> Result<PastAttempts, QueryError> {
    let mut last = match (newest_number(connection)?, wanted.cursor) {
        (None, _) => return Ok(PastAttempts::default()),
        (Some(newest), 0) => newest,
        (Some(newest), cursor) => newest.min(cursor.saturating_sub(1)),
    };
    let homes = homes(connection, wanted)?;
    if wanted.before > 0 {
        last = last.min(last_before(connection, &homes, wanted.before)?);
    }
    let first = last.saturating_sub(JOBS_AT_A_TIME - 1);
    let mut found = PastAttempts::default();
    for home in &homes {
        let rows = if *home == Home::Live { "live_jobs".to_owned() } else { home.table() };
        let sql = format!(
            "SELECT no, body, spec FROM {rows} WHERE no BETWEEN ?1 AND ?2
             AND (ended_at = 0 OR ended_at >= ?3) ORDER BY no DESC"
        );
        let mut statement = connection.prepare(&sql)?;
        let bounds = params![signed(first), signed(last), signed(wanted.after)];
        for job in statement.query_map(bounds, whole)? {
            take(job?, wanted, &mut found.attempts);
        }
    }
    found.next = (first > oldest_number(connection, &homes)?).then_some(first);
    Ok(found)
}

/// Those that may have jobs that ran then: partitions whose jobs had all ended before have none.
fn homes(connection: &Connection, wanted: &AttemptsWanted) -> rusqlite::Result<Vec<Home>> {
    let mut homes = Vec::new();
    let mut statement = connection.prepare(
        "SELECT 1 FROM partitions WHERE slot = ?1 AND opened > 0 AND last_ended_at >= ?2",
    )?;
    for home in Home::all() {
        let may = match home {
            Home::Live => true,
            Home::Ended(slot) => statement.exists(params![slot.number(), signed(wanted.after)])?,
        };
        if may {
            homes.push(home);
        }
    }
    Ok(homes)
}

fn last_before(connection: &Connection, homes: &[Home], at: u64) -> rusqlite::Result<u64> {
    let mut last = u64::MAX;
    for home in homes {
        if let Some(no) = first_since(connection, *home, at.saturating_add(1))? {
            last = last.min(no.saturating_sub(1));
        }
    }
    Ok(last)
}

fn oldest_number(connection: &Connection, homes: &[Home]) -> rusqlite::Result<u64> {
    let mut oldest = u64::MAX;
    for home in homes {
        let sql = format!("SELECT min(no) FROM {}", home.table());
        let no: Option<i64> = connection.query_row(&sql, [], |row| row.get(0))?;
        oldest = oldest.min(no.map_or(u64::MAX, i64::unsigned_abs));
    }
    Ok(oldest)
}

fn take(job: v1::Job, wanted: &AttemptsWanted, found: &mut Vec<PastAttempt>) {
    let Some(spec) = job.spec else { return };
    let kind = spec.requirements.map(|wanted| wanted.r#type).unwrap_or_default();
    for (attempt, number) in job.attempts.into_iter().zip(1..) {
        let of_worker = wanted.worker.is_empty() || attempt.worker == wanted.worker;
        let ended_after = attempt.ended_at == 0 || attempt.ended_at >= wanted.after;
        let began_before = wanted.before == 0 || attempt.offered_at <= wanted.before;
        if of_worker && ended_after && began_before {
            let (job, kind) = (spec.id.clone(), kind.clone());
            found.push(PastAttempt { job, kind, number, attempt });
        }
    }
}
