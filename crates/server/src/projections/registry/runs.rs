//! Runs: what became of the jobs that were submitted together.

use std::collections::BTreeMap;

use bellwether_wire::json::array::array_of;
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
    pub(crate) arrays: Vec<v1::ArrayCount>,
    /// The number of its newest job.
    pub(crate) last: u64,
    /// Others came in between its jobs.
    is_mixed: bool,
}

/// Those whose newest job lies before this one, newest first.
pub(super) fn runs(
    connection: &Connection,
    before: u64,
    limit: usize,
) -> Result<Vec<RunSummary>, QueryError> {
    let mut newest = connection.prepare_cached(
        "SELECT run_id, no FROM jobs WHERE run_id <> '' AND no < ?1 AND run_id <> ?2
         ORDER BY no DESC LIMIT 1",
    )?;
    let mut found = Vec::new();
    // From run to run: the jobs of one are numbered in a row, so the next lies before its first. Of
    // one that came in steps the others may lie in between.
    let (mut before, mut except) = (before, String::new());
    while found.len() < limit {
        let next = newest.query_row((signed(before), &except), |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
        });
        let Some((id, no)) = next.optional()? else { break };
        let Some(summary) = run(connection, &id)? else { break };
        (before, except) = match summary.is_mixed {
            false => (summary.first, String::new()),
            true => (no, id),
        };
        // One that was met before is told by its newest job.
        if summary.last == no {
            found.push(summary);
        }
    }
    Ok(found)
}

pub(super) fn run(connection: &Connection, id: &str) -> Result<Option<RunSummary>, QueryError> {
    // Counted here: asked for sums over all partitions, SQLite would look at every row of them.
    let mut statement = connection.prepare_cached(
        "SELECT state, no, submitted_at, ended_at, id FROM jobs
         WHERE run_id = ?1 AND run_id <> ''",
    )?;
    let mut states = BTreeMap::new();
    let mut arrays: BTreeMap<String, BTreeMap<i32, u64>> = BTreeMap::new();
    let mut count = 0;
    let mut open = false;
    let mut summary = RunSummary {
        id: id.to_owned(),
        first: u64::MAX,
        submitted_at: u64::MAX,
        ended_at: 0,
        states: Vec::new(),
        arrays: Vec::new(),
        last: 0,
        is_mixed: false,
    };
    let mut rows = statement.query([id])?;
    while let Some(row) = rows.next()? {
        let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
        let state = row.get(0)?;
        *states.entry(state).or_insert(0) += 1;
        if let Some(array) = array_of(row.get_ref(4)?.as_str().map_err(rusqlite::Error::from)?) {
            match arrays.get_mut(array) {
                Some(states) => *states.entry(state).or_insert(0) += 1,
                None => drop(arrays.insert(array.to_owned(), [(state, 1)].into())),
            }
        }
        count += 1;
        summary.last = summary.last.max(number(1)?);
        summary.first = summary.first.min(number(1)?);
        summary.submitted_at = summary.submitted_at.min(number(2)?);
        summary.ended_at = summary.ended_at.max(number(3)?);
        open |= number(3)? == 0;
    }
    if open {
        summary.ended_at = 0;
    }
    summary.states = counts(states);
    let arrays = arrays.into_iter();
    summary.arrays =
        arrays.map(|(id, states)| v1::ArrayCount { id, states: counts(states) }).collect();
    summary.is_mixed = count > 0 && summary.last - summary.first + 1 > count;
    Ok((!summary.states.is_empty()).then_some(summary))
}

fn counts(states: BTreeMap<i32, u64>) -> Vec<v1::StateCount> {
    states.into_iter().map(|(state, count)| v1::StateCount { state, count }).collect()
}
