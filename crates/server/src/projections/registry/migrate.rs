//! A file of the version before, in which all jobs lay in one table.

use rusqlite::Connection;

use super::partitions::{Retention, Slot};
use super::schema::{self, Home};

pub(super) const FORMER: i64 = 4;

const COLUMNS: &str = "no, id, kind, run_id, state, worker, submitted_at, ended_at, body";

/// Keeps what there is, as far as it is to be kept.
pub(super) fn carry_over(connection: &Connection, retention: Retention) -> rusqlite::Result<()> {
    tracing::info!("the registry is carried over into another form; this may take a minute");
    let transaction = connection.unchecked_transaction()?;
    let indexes = ["by_id", "by_state", "by_kind", "by_run", "of_runs", "by_end"];
    let dropped = indexes.map(|index| format!("DROP INDEX IF EXISTS jobs_{index};")).concat();
    transaction.execute_batch(&format!(
        "{dropped}
         ALTER TABLE jobs RENAME TO former_jobs;
         ALTER TABLE specs RENAME TO former_specs;
         ALTER TABLE tags RENAME TO former_tags;
         ALTER TABLE workers RENAME TO former_workers;
         ALTER TABLE position RENAME TO former_position;
         CREATE INDEX former_by_end ON former_jobs (ended_at, no);"
    ))?;
    schema::create_tables(&transaction)?;
    transaction.execute_batch(&format!(
        "INSERT INTO workers SELECT * FROM former_workers;
         UPDATE position SET (seq, reached) = (SELECT seq, reached FROM former_position);
         INSERT INTO live SELECT {COLUMNS}, spec FROM former_jobs WHERE ended_at = 0;
         INSERT INTO specs SELECT * FROM former_specs WHERE no IN (SELECT no FROM live);
         INSERT INTO tags SELECT 0, tag, no FROM former_tags WHERE no IN (SELECT no FROM live);"
    ))?;
    let jobs = retention.partition_jobs();
    let partitions = retention.jobs_max.div_ceil(jobs);
    // The oldest lie in the first partition.
    for (slot, newer) in Slot::all().zip((0..partitions).rev()) {
        carry_over_ended(&transaction, slot, jobs, newer * jobs)?;
    }
    transaction.execute_batch(
        "DROP TABLE former_jobs; DROP TABLE former_specs; DROP TABLE former_tags;
         DROP TABLE former_workers; DROP TABLE former_position;",
    )?;
    transaction.commit()?;
    connection.execute_batch("VACUUM")
}

fn carry_over_ended(
    connection: &Connection,
    slot: Slot,
    jobs: u64,
    newer: u64,
) -> rusqlite::Result<()> {
    let (table, number) = (Home::Ended(slot).table(), slot.number());
    let spec = "coalesce(spec, (SELECT spec FROM former_specs AS s WHERE s.no = former_jobs.no))";
    connection.execute_batch(&format!(
        "INSERT INTO {table} SELECT {COLUMNS}, {spec} FROM former_jobs WHERE no IN (
             SELECT no FROM former_jobs WHERE ended_at > 0
             ORDER BY ended_at DESC, no DESC LIMIT {jobs} OFFSET {newer}
         );
         INSERT INTO tags
             SELECT {number}, tag, no FROM former_tags WHERE no IN (SELECT no FROM {table});
         INSERT INTO partitions SELECT {number}, {number}, min(ended_at), max(ended_at)
             FROM {table} HAVING count(*) > 0;
         INSERT INTO ended_counts SELECT {number}, state, count(*) FROM {table} GROUP BY state;"
    ))
}
