//! Runs: what became of the jobs that were submitted together.

use std::collections::BTreeMap;

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
        "SELECT run_id, no FROM jobs WHERE run_id <> '' AND no < ?1 ORDER BY no DESC LIMIT 1",
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
    // Counted here: asked for sums over all partitions, SQLite would look at every row of them.
    let mut statement = connection.prepare_cached(
        "SELECT state, no, submitted_at, ended_at FROM jobs WHERE run_id = ?1 AND run_id <> ''",
    )?;
    let mut states = BTreeMap::new();
    let mut open = false;
    let mut summary = RunSummary {
        id: id.to_owned(),
        first: u64::MAX,
        submitted_at: u64::MAX,
        ended_at: 0,
        states: Vec::new(),
    };
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
        *states.entry(row.get(0)?).or_insert(0) += 1;
        summary.first = summary.first.min(number(1)?);
        summary.submitted_at = summary.submitted_at.min(number(2)?);
        summary.ended_at = summary.ended_at.max(number(3)?);
        open |= number(3)? == 0;
    }
    if open {
        summary.ended_at = 0;
    }
    let states = states.into_iter().map(|(state, count)| v1::StateCount { state, count });
    summary.states = states.collect();
    Ok((!summary.states.is_empty()).then_some(summary))
}
