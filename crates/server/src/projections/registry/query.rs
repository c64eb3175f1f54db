//! Questions to the registry.

use bellwether_core::model::{Actor, ActorNo, JobId, JobNo, Name, Settlement};
use bellwether_wire::v1;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension as _, Row, params_from_iter};

use super::schema::Home;
use super::store::{decode, signed};

#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryError {
    #[error("the cursor is not one that a response gave")]
    Cursor,
    #[error("the registry could not be read: {0}")]
    Store(#[from] rusqlite::Error),
}

/// The newest job of this id, with everything.
pub(super) fn job(connection: &Connection, id: &str) -> Result<Option<v1::Job>, QueryError> {
    let mut statement = connection
        .prepare_cached("SELECT no, body, spec FROM jobs WHERE id = ?1 ORDER BY no DESC LIMIT 1")?;
    let found = statement.query_row([id], whole).optional()?;
    found.map(|job| with_dependencies(connection, job)).transpose()
}

pub(super) fn job_of_number(
    connection: &Connection,
    no: JobNo,
) -> Result<Option<v1::Job>, QueryError> {
    let mut statement =
        connection.prepare_cached("SELECT no, body, spec FROM jobs WHERE no = ?1")?;
    let found = statement.query_row([signed(no.0)], whole).optional()?;
    found.map(|job| with_dependencies(connection, job)).transpose()
}

/// A job that is not as it is in the file.
pub(super) fn with_spec(
    connection: &Connection,
    job: v1::Job,
    spec: v1::JobSpec,
) -> Result<v1::Job, QueryError> {
    with_dependencies(connection, described(job, spec))
}

pub(super) fn whole(row: &Row<'_>) -> rusqlite::Result<v1::Job> {
    let job: v1::Job = decode(row.get_ref(1)?.as_blob()?)?;
    Ok(described(job, decode(row.get_ref(2)?.as_blob()?)?))
}

fn described(mut job: v1::Job, mut spec: v1::JobSpec) -> v1::Job {
    if let Some(to) = &job.escalated {
        spec.escalate(to);
    }
    job.spec = Some(spec);
    job
}

/// Jobs that were taken before their dependencies were kept by id have them by number.
fn with_dependencies(connection: &Connection, mut job: v1::Job) -> Result<v1::Job, QueryError> {
    let Some(spec) = job.spec.as_mut().filter(|spec| spec.dependencies.is_empty()) else {
        return Ok(job);
    };
    let mut statement = connection.prepare_cached("SELECT id FROM jobs WHERE no = ?1")?;
    for no in &spec.waits_for {
        let id = statement.query_row([signed(*no)], |row| row.get(0)).optional()?;
        spec.dependencies.extend(id);
    }
    Ok(job)
}

/// How these jobs ended, as far as they are known and have.
pub(super) fn settlements(
    connection: &Connection,
    ids: &[JobId],
) -> Result<Vec<(JobId, Settlement)>, QueryError> {
    let mut statement = connection.prepare_cached(
        "SELECT state, no FROM ended_jobs WHERE id = ?1 ORDER BY no DESC LIMIT 1",
    )?;
    let mut found = Vec::new();
    for id in ids {
        let state: Option<i32> = statement.query_row([id.as_str()], |row| row.get(0)).optional()?;
        let settlement = state.map(|state| {
            let completed = state == v1::JobState::Completed as i32;
            if completed { Settlement::Completed } else { Settlement::NotCompleted }
        });
        found.extend(settlement.map(|settlement| (id.clone(), settlement)));
    }
    Ok(found)
}

/// What an event needs to be read alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct JobNames {
    pub(crate) id: String,
    pub(crate) run_id: String,
    pub(crate) node: String,
    pub(crate) kind: String,
}

pub(super) fn job_names(connection: &Connection, no: JobNo) -> Result<JobNames, QueryError> {
    let mut statement =
        connection.prepare_cached("SELECT id, run_id, spec, kind FROM jobs WHERE no = ?1")?;
    let found = statement.query_row([signed(no.0)], |row| {
        let spec: v1::JobSpec = decode(row.get_ref(2)?.as_blob()?)?;
        let id: String = row.get(0)?;
        let node = if spec.node.is_empty() { id.clone() } else { spec.node };
        Ok(JobNames { id, run_id: row.get(1)?, node, kind: row.get(3)? })
    });
    Ok(found.optional()?.unwrap_or_default())
}

pub(super) fn worker_name(connection: &Connection, no: u32) -> Result<String, QueryError> {
    let mut statement = connection.prepare_cached("SELECT id FROM workers WHERE no = ?1")?;
    Ok(statement.query_row([no], |row| row.get(0)).optional()?.unwrap_or_default())
}

/// None if it is not remembered.
pub(super) fn actor(connection: &Connection, no: ActorNo) -> Result<Option<Actor>, QueryError> {
    let mut statement = connection.prepare_cached("SELECT name, peer FROM actors WHERE no = ?1")?;
    let found =
        statement.query_row([no.0], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let found = found.optional()?;
    Ok(found.and_then(|(name, peer)| {
        Some(Actor { name: Name::new(&name).ok()?, peer: Name::new(&peer).ok() })
    }))
}

/// Jobs by number, and their ids.
pub(crate) type NumberedIds = Vec<(u64, String)>;

/// Oldest first, those behind one job and up to another.
pub(super) fn ids_between(
    connection: &Connection,
    wanted: &v1::ListJobsRequest,
    behind: u64,
    last: u64,
    limit: usize,
) -> Result<NumberedIds, QueryError> {
    let mut filter = Filter::of(wanted);
    filter.number("no > ?", behind);
    filter.number("no <= ?", last);
    let (view, clause) = (view(&wanted.states), filter.clause());
    let sql = format!("SELECT no, id FROM {view}{clause} ORDER BY no LIMIT {limit}");
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(filter.values), |row| {
        Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many jobs there are of a kind, by a look at each, and the number of the newest of all.
pub(super) fn count(
    connection: &Connection,
    wanted: &v1::ListJobsRequest,
) -> Result<(u64, u64), QueryError> {
    let filter = Filter::of(wanted);
    let sql = format!("SELECT count(*) FROM {}{}", view(&wanted.states), filter.clause());
    let count = connection
        .prepare_cached(&sql)?
        .query_row(params_from_iter(filter.values), |row| row.get::<_, i64>(0))?;
    let newest = connection
        .prepare_cached("SELECT no, id FROM jobs ORDER BY no DESC LIMIT 1")?
        .query_row([], |row| row.get::<_, i64>(0))
        .optional()?;
    Ok((count.unsigned_abs(), newest.unwrap_or(0).unsigned_abs()))
}

/// Where jobs in these states are: to look for those that have not ended among all that have would
/// take long.
fn view(states: &[i32]) -> &'static str {
    let ended = |state: &i32| v1::JobState::try_from(*state).is_ok_and(v1::JobState::has_ended);
    match states.iter().map(ended).reduce(|all, ended| all && ended) {
        Some(true) => "ended_jobs",
        Some(false) if !states.iter().any(ended) => "live_jobs",
        Some(false) | None => "jobs",
    }
}

/// By the homes, because the index begins with them.
fn tagged() -> String {
    let homes: Vec<_> = Home::all().map(|home| home.number().to_string()).collect();
    format!("no IN (SELECT no FROM tags WHERE home IN ({}) AND tag = ?)", homes.join(", "))
}

pub(super) fn shorten(job: &mut v1::Job) {
    job.attempts.clear();
    job.result.clear();
    if let Some(spec) = &mut job.spec {
        spec.payload.clear();
    }
}

/// How many of the jobs that are kept ended in which state.
pub(super) fn ended_counts(connection: &Connection) -> Result<Vec<v1::StateCount>, QueryError> {
    let mut statement =
        connection.prepare_cached("SELECT state, sum(count) FROM ended_counts GROUP BY state")?;
    let rows = statement.query_map([], |row| {
        let count: i64 = row.get(1)?;
        Ok(v1::StateCount { state: row.get(0)?, count: count.unsigned_abs() })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

#[derive(Debug, Clone, Default)]
pub(super) struct Filter {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Filter {
    /// All but the cursor.
    pub(super) fn of(wanted: &v1::ListJobsRequest) -> Filter {
        let mut filter = Filter::default();
        filter.states(&wanted.states);
        filter.text("kind = ?", &wanted.r#type);
        filter.text("run_id = ?", &wanted.run_id);
        filter.text("worker = ?", &wanted.worker);
        filter.text(&tagged(), &wanted.tag);
        filter.number("submitted_at >= ?", wanted.submitted_after);
        filter.number("submitted_at <= ?", wanted.submitted_before);
        if wanted.no_elements {
            filter.conditions.push("id NOT LIKE '%]'".to_owned());
        }
        if !wanted.id_prefix.is_empty() {
            let (from, to) = Filter::prefix_bounds(&wanted.id_prefix);
            filter.text("id >= ?", &from);
            filter.text("id < ?", &to);
        }
        filter
    }

    /// No text is between a prefix with the highest character and what follows the prefix.
    pub(super) fn prefix_bounds(prefix: &str) -> (String, String) {
        (prefix.to_owned(), format!("{prefix}\u{10ffff}"))
    }

    pub(super) fn conditions(&self) -> &[String] {
        &self.conditions
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    fn text(&mut self, condition: &str, value: &str) {
        if !value.is_empty() {
            self.conditions.push(condition.to_owned());
            self.values.push(Value::Text(value.to_owned()));
        }
    }

    fn number(&mut self, condition: &str, value: u64) {
        if value > 0 {
            self.conditions.push(condition.to_owned());
            self.values.push(Value::Integer(signed(value)));
        }
    }

    fn states(&mut self, states: &[i32]) {
        if states.is_empty() {
            return;
        }
        let completed = v1::JobState::Completed as i32;
        if !states.contains(&completed) {
            // In so many words, so that the index serves which leaves these out.
            self.conditions.push(format!("state <> {completed}"));
        }
        let numbers: Vec<_> = states.iter().map(i32::to_string).collect();
        self.conditions.push(format!("state IN ({})", numbers.join(", ")));
    }

    fn clause(&self) -> String {
        if self.conditions.is_empty() {
            return String::new();
        }
        format!(" WHERE {}", self.conditions.join(" AND "))
    }
}
