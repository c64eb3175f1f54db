//! The list of jobs, and how many there are of a kind.

use bellwether_wire::v1;
use rusqlite::Connection;

use super::lead::{Lead, Search, first_since};
use super::query::{QueryError, shorten, whole};
use super::schema::Home;
use super::store::signed;

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 1_000;
/// Jobs that are looked at in their order before an index is asked that has them in another one: where
/// many are wanted, a page is full by then.
const NEWEST_FIRST: u64 = 5_000;
/// Nobody counts further.
const COUNT_MAX: u64 = 10_000;

/// How many jobs there are; at least so many if `more`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) jobs: u64,
    pub(crate) more: bool,
}

/// Newest first.
pub(super) fn search(
    connection: &Connection,
    wanted: &v1::ListJobsRequest,
) -> Result<v1::ListJobsResponse, QueryError> {
    let limit =
        if wanted.limit == 0 { LIMIT_DEFAULT } else { wanted.limit.min(LIMIT_MAX) } as usize;
    let found = newest(connection, wanted, last_number(wanted)?, limit + 1)?;
    let more = found.len() > limit;
    let mut jobs = Vec::with_capacity(limit);
    for (no, home) in found.into_iter().take(limit) {
        jobs.extend(read(connection, no, home)?);
    }
    let next_cursor = match jobs.last() {
        Some(last) if more => last.job.to_string(),
        _ => String::new(),
    };
    jobs.iter_mut().for_each(shorten);
    Ok(v1::ListJobsResponse { jobs, next_cursor })
}

fn last_number(wanted: &v1::ListJobsRequest) -> Result<u64, QueryError> {
    if wanted.cursor.is_empty() {
        return Ok(u64::MAX);
    }
    let before: u64 = wanted.cursor.parse().map_err(|_| QueryError::Cursor)?;
    Ok(before.saturating_sub(1))
}

/// Numbers, with where the rows lie.
type Found = Vec<(u64, Home)>;

fn newest(
    connection: &Connection,
    wanted: &v1::ListJobsRequest,
    last: u64,
    limit: usize,
) -> Result<Found, QueryError> {
    let Some(last) = newest_number(connection)?.map(|newest| newest.min(last)) else {
        return Ok(Vec::new());
    };
    let search = Search::new(connection, wanted)?.between((0, last));
    let leads = search.leads(connection)?;
    if leads == [Lead::Prefix] {
        let first = last.saturating_sub(NEWEST_FIRST);
        let found = gather(connection, &search, &[Lead::Numbers], (first, last), limit)?;
        if found.len() >= limit {
            return Ok(found);
        }
    }
    gather(connection, &search, &leads, (0, last), limit)
}

fn gather(
    connection: &Connection,
    search: &Search<'_>,
    leads: &[Lead],
    bounds: (u64, u64),
    limit: usize,
) -> Result<Found, QueryError> {
    let mut found = Vec::new();
    for home in search.homes() {
        let Some(bounds) = within(connection, home, search.wanted(), bounds)? else { continue };
        let search = search.between(bounds);
        for lead in leads {
            let numbers = search.newest_in(connection, home, *lead, limit)?;
            found.extend(numbers.into_iter().map(|no| (no, home)));
        }
    }
    found.sort_unstable_by_key(|(no, _)| std::cmp::Reverse(*no));
    found.truncate(limit);
    Ok(found)
}

/// The numbers of a home's jobs that were submitted when they should be; none if no job was.
fn within(
    connection: &Connection,
    home: Home,
    wanted: &v1::ListJobsRequest,
    (mut first, mut last): (u64, u64),
) -> rusqlite::Result<Option<(u64, u64)>> {
    if wanted.submitted_after > 0 {
        match first_since(connection, home, wanted.submitted_after)? {
            Some(no) => first = first.max(no),
            None => return Ok(None),
        }
    }
    if wanted.submitted_before > 0
        && let Some(no) = first_since(connection, home, wanted.submitted_before.saturating_add(1))?
    {
        last = last.min(no.saturating_sub(1));
    }
    Ok((first <= last).then_some((first, last)))
}

pub(super) fn newest_number(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let mut newest = None;
    for home in Home::all() {
        let sql = format!("SELECT max(no) FROM {}", home.table());
        let no: Option<i64> = connection.query_row(&sql, [], |row| row.get(0))?;
        newest = newest.max(no.map(i64::unsigned_abs));
    }
    Ok(newest)
}

fn read(connection: &Connection, no: u64, home: Home) -> Result<Option<v1::Job>, QueryError> {
    let rows = match home {
        Home::Live => "live_jobs".to_owned(),
        Home::Ended(_) => home.table(),
    };
    let sql = format!("SELECT no, body, spec FROM {rows} WHERE no = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query_map([signed(no)], whole)?;
    Ok(found.next().transpose()?)
}

/// How many jobs there are of a kind.
pub(super) fn count(
    connection: &Connection,
    wanted: &v1::ListJobsRequest,
) -> Result<Counted, QueryError> {
    let Some(last) = newest_number(connection)? else {
        return Ok(Counted { jobs: 0, more: false });
    };
    let search = Search::new(connection, wanted)?.between((0, last));
    let leads = search.leads(connection)?;
    let mut jobs = 0;
    for home in search.homes() {
        let Some(bounds) = within(connection, home, wanted, (0, last))? else { continue };
        let search = search.between(bounds);
        for lead in &leads {
            let most = COUNT_MAX + 1 - jobs;
            jobs += search.count_in(connection, home, *lead, most)?;
            if jobs > COUNT_MAX {
                return Ok(Counted { jobs: COUNT_MAX, more: true });
            }
        }
    }
    Ok(Counted { jobs, more: false })
}

#[cfg(test)]
pub(super) mod plans {
    use super::*;

    /// How SQLite would look for these jobs, statement by statement.
    pub(in crate::projections::registry) fn explain(
        connection: &Connection,
        wanted: &v1::ListJobsRequest,
    ) -> Vec<String> {
        let search = Search::new(connection, wanted).unwrap().between((0, 1 << 40));
        let leads = search.leads(connection).unwrap();
        let mut steps = Vec::new();
        for home in search.homes() {
            for lead in &leads {
                let (sql, values) = search.newest_sql(home, *lead, 100);
                let mut statement =
                    connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let read = |row: &rusqlite::Row<'_>| row.get::<_, String>(3);
                let told = statement.query_map(rusqlite::params_from_iter(values), read).unwrap();
                steps.extend(told.map(Result::unwrap));
            }
        }
        steps
    }
}
