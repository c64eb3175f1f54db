//! Events into rows.

use bellwether_core::model::limits::ACTORS_MAX;
use bellwether_core::model::{
    AcceptedJob, Actor, ActorNo, JobNo, Name, RunId, Seq, Timestamp, WorkerNo,
};
use bellwether_core::{Entry, Event, State, Transition};
use bellwether_journal::sqlite::LogCopier;
use bellwether_wire::job::job_to_wire;
use bellwether_wire::v1;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::partitions::{Partitions, Retention};
use super::pending::Pending;
use super::query::{self, QueryError};
use super::row::{Fresh, Others, Row};
use super::schema;
use super::store::{self, Position};
use crate::priority;

/// Rows that are written in one go when there is time: about a tenth of a millisecond.
const ROWS_AT_A_TIME: usize = 4;
/// With more to write than this there is no time.
const GENTLE_ROWS_MAX: usize = 1_000;

/// Actors whose names are at hand.
const ACTORS_KEPT: usize = 2 * ACTORS_MAX;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// Somebody waits for it.
    Quick,
    /// Others go first, if there is little to write.
    Gentle,
}

impl Pace {
    fn after(self, index: usize, rows: usize) {
        let in_between = index % ROWS_AT_A_TIME == ROWS_AT_A_TIME - 1;
        if self == Pace::Gentle && rows <= GENTLE_ROWS_MAX && in_between {
            priority::breathe();
        }
    }
}

/// Most jobs end soon. One that does is written once, when it has ended; the others are written when
/// somebody asks, when memory demands it, and when they have waited for long.
#[derive(Debug)]
pub(super) struct Projection {
    connection: Connection,
    log: LogCopier,
    partitions: Partitions,
    retention: Retention,
    pending: Pending,
    workers: FxHashMap<WorkerNo, String>,
    new_workers: Vec<WorkerNo>,
    /// Those that may act again.
    actors: FxHashMap<ActorNo, Name>,
    new_actors: Vec<(ActorNo, Actor)>,
    /// The last entry that was projected, written or not.
    position: Seq,
    /// Its time, which is what ages are measured by: the wall clock may be set.
    latest: Timestamp,
    /// What the file says of itself.
    stored: Position,
}

impl Projection {
    pub(super) fn open(
        connection: Connection,
        log: LogCopier,
        retention: Retention,
    ) -> rusqlite::Result<Self> {
        let stored = store::position(&connection)?;
        let workers = store::workers(&connection)?;
        let actors = store::actors(&connection)?;
        let partitions = Partitions::load(&connection, retention)?;
        Ok(Projection {
            connection,
            log,
            partitions,
            retention,
            pending: Pending::default(),
            workers,
            new_workers: Vec::new(),
            actors,
            new_actors: Vec::new(),
            position: stored.complete,
            latest: Timestamp(0),
            stored,
        })
    }

    pub(super) fn position(&self) -> Seq {
        self.position
    }

    /// Everything up to here is written.
    pub(super) fn complete(&self) -> Seq {
        self.stored.complete
    }

    pub(super) fn pending(&self) -> &Pending {
        &self.pending
    }

    /// Entries that were projected before are left out.
    pub(super) fn project(&mut self, entry: &Entry) -> rusqlite::Result<()> {
        if entry.seq <= self.position {
            return Ok(());
        }
        self.apply(entry)?;
        self.position = entry.seq;
        self.latest = entry.at;
        Ok(())
    }

    fn apply(&mut self, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::Submitted { run, jobs, .. } => {
                let run = run.as_ref().map(|run| &run.id);
                return self.take_jobs(entry, run, jobs);
            }
            Event::WorkerJoined { worker, spec } => {
                self.workers.insert(*worker, spec.id.to_string());
                self.new_workers.push(*worker);
            }
            Event::ActorNamed { number, actor } => self.name_actor(*number, actor),
            _ => {}
        }
        let about = entry.event.job();
        if let Some(job) = about {
            let others = self.others(entry)?;
            self.change(job, entry.seq, |row| row.take(entry, others))?;
        }
        let moved = |transition: &Transition<'_>| Some(transition.job) != about;
        entry.transitions().filter(moved).try_for_each(|Transition { job, to, .. }| {
            if let Some(fresh) = self.pending.fresh(job) {
                (fresh.status, fresh.seq) = (to, entry.seq);
                return Ok(());
            }
            self.change(job, entry.seq, |row| row.enter(to, entry.at))
        })
    }

    fn name_actor(&mut self, number: ActorNo, actor: &Actor) {
        // The core forgets some, too; who is asked for in vain has no name.
        if self.actors.len() >= ACTORS_KEPT {
            self.actors
                .retain(|known, _| number.0.saturating_sub(known.0) < ACTORS_KEPT as u32 / 2);
        }
        self.actors.insert(number, actor.name.clone());
        self.new_actors.push((number, actor.clone()));
    }

    fn take_jobs(
        &mut self,
        entry: &Entry,
        run: Option<&RunId>,
        jobs: &[AcceptedJob],
    ) -> rusqlite::Result<()> {
        let (seq, at) = (entry.seq, entry.at);
        // They may have ended and been written before a crash.
        let again = seq <= self.stored.reached;
        let by = self.actors.get(&entry.actor).cloned();
        for (taken, job) in entry.transitions().zip(jobs) {
            if again && store::exists(&self.connection, taken.job)? {
                continue;
            }
            let (spec, run, status) = (job.spec.clone(), run.cloned(), taken.to);
            let by = by.clone();
            self.pending.take(taken.job, Fresh { spec, run, status, seq, since: seq, at, by });
        }
        Ok(())
    }

    fn others(&self, entry: &Entry) -> rusqlite::Result<Others> {
        let event = &entry.event;
        let by = self.actors.get(&entry.actor).cloned();
        let mut others = Others { by, ..Others::default() };
        if let Event::Assigned { worker, .. } = event {
            others.worker = self.workers.get(worker).cloned().unwrap_or_default();
        }
        if let Event::Skipped { job, because } = event
            && because != job
        {
            others.because = self.id_of(*because)?;
        }
        if let Event::SkippedByKey { holder, .. } = event {
            others.because = self.id_of(*holder)?;
        }
        Ok(others)
    }

    pub(super) fn id_of(&self, job: JobNo) -> rusqlite::Result<Option<String>> {
        match self.pending.id_of(job) {
            Some(id) => Ok(Some(id)),
            None => store::id(&self.connection, job),
        }
    }

    /// Empty if nobody knows it any more.
    pub(super) fn worker_name(&self, worker: WorkerNo) -> &str {
        self.workers.get(&worker).map_or("", String::as_str)
    }

    /// One that retention has taken already needs no change.
    fn change(
        &mut self,
        no: JobNo,
        seq: Seq,
        change: impl FnOnce(&mut Row),
    ) -> rusqlite::Result<()> {
        if !self.pending.has_row(no) {
            self.begin()?;
            match store::load(&self.connection, no)? {
                Some(row) => self.pending.remember(no, row),
                None => return Ok(()),
            }
        }
        self.pending.change(no, seq, change);
        Ok(())
    }

    /// All that was projected of a job, written or not.
    pub(super) fn look(&self, no: JobNo) -> Result<Option<v1::Job>, QueryError> {
        let stored = || query::job_of_number(&self.connection, no);
        let (job, spec) = match self.pending.known(no) {
            Some((job, Some(spec))) => (job, Some(job_to_wire(&spec))),
            Some((job, None)) => (job, stored()?.and_then(|stored| stored.spec)),
            None => return stored(),
        };
        spec.map(|spec| query::with_spec(&self.connection, job, spec)).transpose()
    }

    /// Writes the jobs that are due, and those with events up to this position that are not written.
    pub(super) fn write(&mut self, up_to: Seq, pace: Pace) -> rusqlite::Result<()> {
        let batch = self.pending.batch(up_to);
        self.begin()?;
        let connection = &self.connection;
        for no in self.new_workers.drain(..) {
            store::save_worker(connection, no, &self.workers[&no])?;
        }
        for (no, actor) in self.new_actors.drain(..) {
            store::save_actor(connection, no, &actor)?;
        }
        for (index, no) in batch.iter().enumerate() {
            self.pending.with_row(*no, |row| {
                let home = self.partitions.home(connection, row)?;
                store::save(connection, *no, row, home)
            })?;
            pace.after(index, batch.len());
        }
        self.partitions.forget(connection, self.latest.0)?;
        self.partitions.save(connection)?;
        self.pending.forget_written(&batch);
        let first = self.pending.first_unwritten();
        let complete = first.map_or(self.position, |first| Seq(first.0 - 1));
        let stored = Position { complete, reached: self.position };
        store::save_position(connection, stored)?;
        connection.execute_batch("COMMIT")?;
        self.stored = stored;
        let is_long = schema::log_pages(&self.connection)? > schema::LOG_PAGES;
        self.log.committed(is_long, &self.connection)?;
        self.partitions.shrink(&self.connection)
    }

    /// What is read and what is written next is one transaction: to begin one for every row that is
    /// looked up takes as long as to look it up.
    fn begin(&self) -> rusqlite::Result<()> {
        if self.connection.is_autocommit() {
            self.connection.execute_batch("BEGIN")
        } else {
            Ok(())
        }
    }

    /// Forgets what is not written, to read it from the journal again.
    pub(super) fn rewind(&mut self) -> rusqlite::Result<()> {
        if !self.connection.is_autocommit() {
            self.connection.execute_batch("ROLLBACK")?;
        }
        self.pending = Pending::default();
        self.new_workers.clear();
        self.new_actors.clear();
        self.stored = store::position(&self.connection)?;
        self.position = self.stored.complete;
        self.workers = store::workers(&self.connection)?;
        self.actors = store::actors(&self.connection)?;
        self.partitions = Partitions::load(&self.connection, self.retention)?;
        Ok(())
    }

    /// Starts over from a state, where the journal no longer has what led to it.
    pub(super) fn import(&mut self, state: &State) -> rusqlite::Result<()> {
        schema::create(&self.connection)?;
        self.rewind()?;
        for (no, worker) in state.workers() {
            self.workers.insert(no, worker.id().to_string());
            self.new_workers.push(no);
        }
        state.actors.iter().for_each(|(no, known)| self.name_actor(no, &known.actor));
        for (no, job) in state.jobs() {
            let run = job.run.and_then(|run| state.run(run)).map(|run| run.id.clone());
            let name = |worker| self.workers.get(&worker).cloned().unwrap_or_default();
            self.pending.remember(no, Row::known(no, job, run, name));
        }
        self.position = state.seq();
        self.write(self.position, Pace::Quick)
    }
}
