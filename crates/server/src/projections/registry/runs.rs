//! Runs: what became of the jobs that were submitted together.

use bellwether_wire::v1;
use rusqlite::{Connection, OptionalExtension as _};

use super::query::QueryError;
use super::store::signed;

/// A run, as far as its jobs are kept.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunSummary {
    pub(crate) id: String,
    /// The number of its first job.
    pub(crate) first: u64,
    pub(crate) submitted_at: u64,
    /// Of the job that ended last; 0 while one has not.
    pub(crate) ended_at: u64,
    pub(crate) states: Vec<v1::StateCount>,
}

/// Newest first, those that begin before this job.
pub(super) fn runs(
    connection: &Connection,
    before: u64,
    limit: usize,
) -> Result<Vec<RunSummary>, QueryError> {
    // From run to run: the jobs of one are numbered in a row, so the next lies before its first.
    let mut newest = connection.prepare_cached(
        "SELECT run_id FROM jobs INDEXED BY jobs_of_runs \
         WHERE run_id <> '' AND no < ?1 ORDER BY no DESC LIMIT 1",
    )?;
    let mut found = Vec::new();
    let mut before = before;
    while found.len() < limit {
        let id = newest.query_row([signed(before)], |row| row.get::<_, String>(0)).optional()?;
        let Some(summary) = id.map(|id| run(connection, &id)).transpose()?.flatten() else { break };
        before = summary.first;
        found.push(summary);
    }
    Ok(found)
}

pub(super) fn run(connection: &Connection, id: &str) -> Result<Option<RunSummary>, QueryError> {
    let mut statement = connection.prepare_cached(
        "SELECT state, count(*), min(no), min(submitted_at), max(ended_at), min(ended_at) \
         FROM jobs WHERE run_id = ?1 AND run_id <> '' GROUP BY state ORDER BY state",
    )?;
    let mut summary: Option<RunSummary> = None;
    let mut open = false;
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
        let summary = summary.get_or_insert_with(|| RunSummary {
            id: id.to_owned(),
            first: u64::MAX,
            submitted_at: u64::MAX,
            ended_at: 0,
            states: Vec::new(),
        });
        summary.states.push(v1::StateCount { state: row.get(0)?, count: number(1)? });
        summary.first = summary.first.min(number(2)?);
        summary.submitted_at = summary.submitted_at.min(number(3)?);
        summary.ended_at = summary.ended_at.max(number(4)?);
        open |= number(5)? == 0;
    }
    Ok(summary
        .map(|summary| RunSummary { ended_at: if open { 0 } else { summary.ended_at }, ..summary }))
}
