//! What leads to the jobs that somebody looks for: in each home of rows, the one index that has the
//! fewest of them. All that is asked for besides is a condition on what it leads to.
//!
//! Every home is asked by itself. SQLite, given all of them at once, would rather walk all rows in the
//! order that they are wanted in than sort a few.

use std::rc::Rc;

use bellwether_wire::v1;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};

use super::query::Filter;
use super::schema::{self, Home};
use super::store::signed;

/// Entries of an index that are counted to tell whether it has few.
const FEW: u64 = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// The jobs themselves, in order.
    Numbers,
    State(i32),
    Kind,
    Run,
    Worker,
    Tag,
    Prefix,
}

/// Which jobs, and between which numbers: both are among them.
#[derive(Debug, Clone)]
pub(super) struct Search<'a> {
    wanted: &'a v1::ListJobsRequest,
    filter: Filter,
    /// Whatever else is asked for does not matter.
    bare: bool,
    /// Those that can be asked for a worker.
    by_worker: Rc<[Home]>,
    first: u64,
    last: u64,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        connection: &Connection,
        wanted: &'a v1::ListJobsRequest,
    ) -> rusqlite::Result<Search<'a>> {
        let by_worker = schema::homes_by_worker(connection)?.into();
        let filter = Filter::of(wanted);
        Ok(Search { wanted, filter, bare: false, by_worker, first: 0, last: u64::MAX })
    }

    /// The same, of jobs between these numbers.
    pub(super) fn between(&self, (first, last): (u64, u64)) -> Search<'a> {
        Search { first, last, ..self.clone() }
    }

    pub(super) fn wanted(&self) -> &'a v1::ListJobsRequest {
        self.wanted
    }

    pub(super) fn homes(&self) -> impl Iterator<Item = Home> + use<> {
        let states = self.wanted.states.clone();
        let ended = |state: &i32| v1::JobState::try_from(*state).is_ok_and(v1::JobState::has_ended);
        Home::all().filter(move |home| match home {
            Home::Live => states.is_empty() || !states.iter().all(ended),
            Home::Ended(_) => states.is_empty() || states.iter().any(ended),
        })
    }

    /// What to follow: several, each to jobs of its own, where several states are wanted.
    pub(super) fn leads(&self, connection: &Connection) -> rusqlite::Result<Vec<Lead>> {
        let ways = self.ways();
        let Some(only) = ways.first().filter(|_| ways.len() == 1) else {
            let mut best = (u64::MAX, Vec::new());
            for way in ways {
                let mut count = 0;
                for lead in &way {
                    count += self.count_led(connection, *lead, FEW)?;
                }
                if count < best.0 {
                    best = (count, way);
                }
            }
            return Ok(best.1);
        };
        Ok(only.clone())
    }

    /// Every way to all of the jobs.
    fn ways(&self) -> Vec<Vec<Lead>> {
        let v1::ListJobsRequest { states, r#type, tag, run_id, worker, id_prefix, .. } =
            self.wanted;
        let given = [
            (Lead::Run, run_id),
            (Lead::Tag, tag),
            (Lead::Worker, worker),
            (Lead::Prefix, id_prefix),
            (Lead::Kind, r#type),
        ];
        let mut ways: Vec<Vec<Lead>> = given
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(lead, _)| vec![lead])
            .collect();
        // Nearly all jobs complete, and those need no index to be found.
        if !states.is_empty() && !states.contains(&(v1::JobState::Completed as i32)) {
            ways.push(states.iter().map(|state| Lead::State(*state)).collect());
        }
        if ways.is_empty() {
            ways.push(vec![Lead::Numbers]);
        }
        ways
    }

    /// Jobs that it leads to in all homes, whatever else is asked for; at most so many.
    fn count_led(&self, connection: &Connection, lead: Lead, most: u64) -> rusqlite::Result<u64> {
        let bare = Search { filter: Filter::default(), bare: true, ..self.clone() };
        let mut found = 0;
        for home in self.homes() {
            if found < most {
                found += bare.count_in(connection, home, lead, most - found)?;
            }
        }
        Ok(found)
    }

    pub(super) fn count_in(
        &self,
        connection: &Connection,
        home: Home,
        lead: Lead,
        most: u64,
    ) -> rusqlite::Result<u64> {
        let (rows, values) = self.rows(home, lead);
        let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {rows} LIMIT {most})");
        let count: i64 =
            connection.prepare(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?;
        Ok(count.unsigned_abs())
    }

    /// The newest of the jobs that a home has.
    pub(super) fn newest_in(
        &self,
        connection: &Connection,
        home: Home,
        lead: Lead,
        limit: usize,
    ) -> rusqlite::Result<Vec<u64>> {
        let (sql, values) = self.newest_sql(home, lead, limit);
        let mut statement = connection.prepare(&sql)?;
        let numbers = statement
            .query_map(params_from_iter(values), |row| row.get(0).map(i64::unsigned_abs))?;
        numbers.collect()
    }

    pub(super) fn newest_sql(&self, home: Home, lead: Lead, limit: usize) -> (String, Vec<Value>) {
        let (rows, values) = self.rows(home, lead);
        let number = if lead == Lead::Tag { "tags.no" } else { "no" };
        (format!("SELECT {number} FROM {rows} ORDER BY {number} DESC LIMIT {limit}"), values)
    }

    /// What stands behind `FROM`, and its values.
    fn rows(&self, home: Home, lead: Lead) -> (String, Vec<Value>) {
        let table = home.table();
        let text = |text: &str| Value::Text(text.to_owned());
        let indexed = |index: &str| format!("{table} INDEXED BY {table}_{index}");
        let wanted = self.wanted;
        let (from, condition, mut values) = match lead {
            Lead::Numbers => (format!("{table} NOT INDEXED"), "TRUE".to_owned(), Vec::new()),
            Lead::State(state) => {
                let completed = v1::JobState::Completed as i32;
                let condition = format!("state = {state} AND state <> {completed}");
                (indexed("by_state"), condition, Vec::new())
            }
            Lead::Kind => (indexed("by_kind"), "kind = ?".to_owned(), vec![text(&wanted.r#type)]),
            Lead::Run => {
                let condition = "run_id = ? AND run_id <> ''".to_owned();
                (indexed("by_run"), condition, vec![text(&wanted.run_id)])
            }
            // The partition that is being filled is walked; see `schema::index_workers`.
            Lead::Worker if !self.by_worker.contains(&home) => (
                format!("{table} NOT INDEXED"),
                "worker = ?".to_owned(),
                vec![text(&wanted.worker)],
            ),
            Lead::Worker => {
                let condition = "worker = ? AND worker <> ''".to_owned();
                (indexed("by_worker"), condition, vec![text(&wanted.worker)])
            }
            Lead::Tag => {
                let join = format!("tags CROSS JOIN {table} ON {table}.no = tags.no");
                let condition = format!("tags.home = {} AND tags.tag = ?", home.number());
                (join, condition, vec![text(&wanted.tag)])
            }
            Lead::Prefix => {
                let (from, to) = Filter::prefix_bounds(&wanted.id_prefix);
                (indexed("by_id"), "id >= ? AND id < ?".to_owned(), vec![text(&from), text(&to)])
            }
        };
        let number = if lead == Lead::Tag { "tags.no" } else { "no" };
        let mut sql = format!("{from} WHERE {condition} AND {number} BETWEEN ? AND ?");
        values.extend([self.first, self.last].map(|number| Value::Integer(signed(number))));
        let filter = match lead {
            // It is what leads there.
            Lead::Tag if !self.bare => {
                Filter::of(&v1::ListJobsRequest { tag: String::new(), ..wanted.clone() })
            }
            _ => self.filter.clone(),
        };
        for condition in filter.conditions() {
            sql += " AND ";
            sql += condition;
        }
        values.extend(filter.values().iter().cloned());
        (sql, values)
    }
}

/// The number of the first job of a home that was submitted at this time or later; jobs are numbered as
/// they come, so it is found by halves.
pub(super) fn first_since(
    connection: &Connection,
    home: Home,
    at: u64,
) -> rusqlite::Result<Option<u64>> {
    let table = home.table();
    let ends = format!("SELECT min(no), (SELECT max(no) FROM {table}) FROM {table}");
    let ends = connection.query_row(&ends, [], |row| {
        Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?))
    })?;
    let (Some(mut low), Some(mut high)) = ends else { return Ok(None) };
    let sql = format!("SELECT no, submitted_at FROM {table} WHERE no >= ?1 ORDER BY no LIMIT 1");
    let mut statement = connection.prepare(&sql)?;
    let mut found = None;
    while low <= high {
        let middle = low + (high - low) / 2;
        let next: Option<(i64, i64)> = statement
            .query_row(params![middle], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        match next {
            Some((no, submitted)) if submitted >= signed(at) => {
                found = Some(no.unsigned_abs());
                high = middle - 1;
            }
            Some((no, _)) => low = no + 1,
            None => high = middle - 1,
        }
    }
    Ok(found)
}
