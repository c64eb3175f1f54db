//! The registry as it was at an earlier position: of a backup that is put back.
//!
//! What has happened to a job since then is taken from its row; what the state of that position knows of
//! it holds again. Attempts that had ended by then, with their decisions, are the row's to tell.

use bellwether_core::State;
use bellwether_core::model::{JobNo, Seq};
use bellwether_wire::v1;
use rusqlite::Connection;

use super::partitions::{Partitions, Retention};
use super::row::{Kept, Row};
use super::store::{self, Position};

pub(super) fn rewind(
    connection: &Connection,
    retention: Retention,
    state: &State,
    to: Seq,
) -> rusqlite::Result<()> {
    let mut partitions = Partitions::load(connection, retention)?;
    connection.execute_batch("BEGIN")?;
    for no in changed_since(connection, to)? {
        let Some(later) = store::load(connection, no)? else { continue };
        match former(state, no, &later) {
            Some(row) => {
                let home = partitions.home(connection, &row)?;
                store::save(connection, no, &row, home)?;
            }
            None => {
                partitions.leave(&later);
                store::remove(connection, no, &later.kept)?;
            }
        }
    }
    partitions.save(connection)?;
    let complete = store::position(connection)?.complete.min(to);
    store::save_position(connection, Position { complete, reached: to })?;
    connection.execute_batch("COMMIT")
}

/// Jobs that something has happened to since, those that came since among them.
fn changed_since(connection: &Connection, to: Seq) -> rusqlite::Result<Vec<JobNo>> {
    let mut statement = connection.prepare("SELECT no, body FROM jobs")?;
    let mut rows = statement.query([])?;
    let mut changed = Vec::new();
    while let Some(row) = rows.next()? {
        let job: v1::Job = store::decode(row.get_ref(1)?.as_blob()?)?;
        if job.position > to.0 {
            changed.push(JobNo(row.get::<_, i64>(0)?.unsigned_abs()));
        }
    }
    Ok(changed)
}

/// The row as it was; none if the job was not there.
fn former(state: &State, no: JobNo, later: &Row) -> Option<Row> {
    let job = state.job(no)?;
    let run = job.run.and_then(|run| state.run(run)).map(|run| run.id.clone());
    let name = |no| state.worker(no).map(|worker| worker.id().to_string()).unwrap_or_default();
    let mut row = Row::known(no, job, run, name);
    let open = std::mem::take(&mut row.job.attempts);
    let known = later.job.attempts.iter().filter(|attempt| attempt.token <= state.seq().0);
    row.job.attempts = known
        .map(|attempt| match open.iter().find(|open| open.token == attempt.token) {
            Some(open) => v1::AttemptView { decision: attempt.decision.clone(), ..open.clone() },
            None => attempt.clone(),
        })
        .collect();
    if row.worker.is_empty() {
        row.worker = row.job.attempts.last().map_or_else(String::new, |last| last.worker.clone());
    }
    let started = row.job.attempts.iter().map(|attempt| attempt.started_at).find(|at| *at > 0);
    row.job.started_at = started.unwrap_or_default();
    row.job.submitted_by.clone_from(&later.job.submitted_by);
    row.kept = match &later.kept {
        Kept::Ended { slot, state } => Kept::Ended { slot: *slot, state: *state },
        Kept::Live | Kept::Nowhere(_) => Kept::Live,
    };
    row.unwritten_since = None;
    Some(row)
}
