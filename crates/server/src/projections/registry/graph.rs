//! A run as a graph: its jobs, and which waits for which.

use std::collections::HashMap;

use bellwether_wire::v1;
use rusqlite::Connection;

use super::query::{QueryError, whole};
use super::schema::Home;

/// Jobs that are told; a run that grew further is told without its newest.
const NODES_MAX: usize = 100_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Graph {
    /// In the order in which they were submitted.
    pub(crate) nodes: Vec<GraphNode>,
    /// There are more.
    pub(crate) more: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct GraphNode {
    pub(crate) job: v1::Job,
    /// Places in the list.
    pub(crate) dependencies: Vec<u32>,
}

/// None if there is no such run.
pub(super) fn graph(connection: &Connection, run: &str) -> Result<Option<Graph>, QueryError> {
    let mut jobs: Vec<v1::Job> = Vec::new();
    for home in Home::all() {
        let (table, rows) = match home {
            Home::Live => ("live".to_owned(), "live_jobs".to_owned()),
            Home::Ended(_) => (home.table(), home.table()),
        };
        let sql = format!(
            "SELECT no, body, spec FROM {rows} WHERE no IN
                (SELECT no FROM {table} INDEXED BY {table}_by_run
                 WHERE run_id = ?1 AND run_id <> '' LIMIT {NODES_MAX})"
        );
        let mut statement = connection.prepare(&sql)?;
        for job in statement.query_map([run], whole)? {
            let mut job = job?;
            job.result.clear();
            if let Some(spec) = &mut job.spec {
                spec.payload.clear();
            }
            jobs.push(job);
        }
    }
    if jobs.is_empty() {
        return Ok(None);
    }
    jobs.sort_unstable_by_key(|job| job.job);
    let more = jobs.len() > NODES_MAX;
    jobs.truncate(NODES_MAX);
    Ok(Some(Graph { nodes: linked(jobs), more }))
}

fn linked(jobs: Vec<v1::Job>) -> Vec<GraphNode> {
    let places = || (0u32..).zip(&jobs);
    let id = |job: &v1::Job| job.spec.as_ref().map(|spec| spec.id.clone()).unwrap_or_default();
    let by_id: HashMap<String, u32> = places().map(|(place, job)| (id(job), place)).collect();
    let by_number: HashMap<u64, u32> = places().map(|(place, job)| (job.job, place)).collect();
    let dependencies = jobs.iter().map(|job| {
        let Some(spec) = &job.spec else { return Vec::new() };
        // Jobs that were taken before their dependencies were kept by id have them by number.
        let named = spec.dependencies.iter().filter_map(|id| by_id.get(id));
        let numbered = spec.waits_for.iter().filter_map(|no| by_number.get(no));
        let mut places: Vec<u32> = named.chain(numbered).copied().collect();
        places.sort_unstable();
        places.dedup();
        places
    });
    let dependencies: Vec<Vec<u32>> = dependencies.collect();
    let nodes = jobs.into_iter().zip(dependencies);
    nodes.map(|(job, dependencies)| GraphNode { job, dependencies }).collect()
}
