//! Events into rows.

use bellwether_core::model::{AcceptedJob, JobNo, RunId, Seq, WorkerNo};
use bellwether_core::{Entry, Event, State, Transition};
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::row::{Fresh, Others, Row};
use super::store::{self, Position};
use crate::priority;

/// Jobs that nothing has happened to, kept in memory until they are written: a hundred bytes each, or
/// five hundred where the journal had to be read for them.
const FRESH_MAX: usize = 50_000;
/// Other rows in memory.
const ROWS_MAX: usize = 50_000;
/// Rows that are written in one go when there is time: about a tenth of a millisecond.
const ROWS_AT_A_TIME: usize = 4;
/// With more to write than this there is no time.
const GENTLE_ROWS_MAX: usize = 5_000;

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
/// somebody asks, when memory demands it, and every few seconds.
#[derive(Debug)]
pub(super) struct Projection {
    connection: Connection,
    fresh: FxHashMap<JobNo, Fresh>,
    rows: FxHashMap<JobNo, Box<Row>>,
    /// Jobs that have ended since the last flush.
    ended: Vec<JobNo>,
    workers: FxHashMap<WorkerNo, String>,
    new_workers: Vec<WorkerNo>,
    /// The last entry that was projected, written or not.
    position: Seq,
    /// What the file says of itself.
    stored: Position,
    retention: store::Retention,
}

impl Projection {
    pub(super) fn open(
        connection: Connection,
        retention: store::Retention,
    ) -> rusqlite::Result<Projection> {
        let stored = store::position(&connection)?;
        let workers = store::workers(&connection)?;
        Ok(Projection {
            connection,
            fresh: FxHashMap::default(),
            rows: FxHashMap::default(),
            ended: Vec::new(),
            workers,
            new_workers: Vec::new(),
            position: stored.complete,
            stored,
            retention,
        })
    }

    pub(super) fn position(&self) -> Seq {
        self.position
    }

    /// Everything up to here is written.
    pub(super) fn complete(&self) -> Seq {
        self.stored.complete
    }

    pub(super) fn ended(&self) -> usize {
        self.ended.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.fresh.len() > FRESH_MAX || self.rows.len() > ROWS_MAX
    }

    /// Entries that were projected before are left out.
    pub(super) fn project(&mut self, entry: &Entry) -> rusqlite::Result<()> {
        if entry.seq <= self.position {
            return Ok(());
        }
        self.apply(entry)?;
        self.position = entry.seq;
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
            _ => {}
        }
        let about = entry.event.job();
        if let Some(job) = about {
            let others = self.others(&entry.event)?;
            let row = self.change(job, entry.seq, |row| row.take(entry, others))?;
            if row.is_some_and(Row::has_ended) {
                self.ended.push(job);
            }
        }
        let moved = |transition: &Transition<'_>| Some(transition.job) != about;
        entry.transitions().filter(moved).try_for_each(|Transition { job, to, .. }| {
            if let Some(fresh) = self.fresh.get_mut(&job) {
                (fresh.status, fresh.seq) = (to, entry.seq);
                return Ok(());
            }
            self.change(job, entry.seq, |row| row.enter(to, entry.at)).map(drop)
        })
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
        for (taken, job) in entry.transitions().zip(jobs) {
            if again && store::exists(&self.connection, taken.job)? {
                continue;
            }
            let (spec, run, status) = (job.spec.clone(), run.cloned(), taken.to);
            self.fresh.insert(taken.job, Fresh { spec, run, status, seq, at });
        }
        Ok(())
    }

    fn others(&self, event: &Event) -> rusqlite::Result<Others> {
        let mut others = Others::default();
        if let Event::Assigned { worker, .. } = event {
            others.worker = self.workers.get(worker).cloned().unwrap_or_default();
        }
        if let Event::Skipped { job, because } = event
            && because != job
        {
            others.because = self.id_of(*because)?;
        }
        Ok(others)
    }

    /// Changes the row of a job, and returns it if it did. One that retention has taken already needs
    /// no change, nor one that knows of this event.
    fn change(
        &mut self,
        no: JobNo,
        seq: Seq,
        change: impl FnOnce(&mut Row),
    ) -> rusqlite::Result<Option<&Row>> {
        if !self.rows.contains_key(&no) {
            let row = match self.fresh.remove(&no) {
                Some(fresh) => Row::of(no, &fresh),
                None => match store::load(&self.connection, no)? {
                    Some(row) => row,
                    None => return Ok(None),
                },
            };
            self.rows.insert(no, Box::new(row));
        }
        let Some(row) = self.rows.get_mut(&no) else { return Ok(None) };
        if row.job.position > seq.0 || (row.job.position == seq.0 && !row.changed) {
            return Ok(None);
        }
        change(row);
        row.job.position = seq.0;
        row.changed = true;
        Ok(Some(row))
    }

    fn id_of(&self, no: JobNo) -> rusqlite::Result<Option<String>> {
        let fresh = self.fresh.get(&no).map(|fresh| &fresh.spec);
        let spec = fresh.or_else(|| self.rows.get(&no)?.unwritten_spec.as_ref());
        match spec {
            Some(spec) => Ok(Some(spec.id.to_string())),
            None => store::id(&self.connection, no),
        }
    }

    /// Writes the jobs that have ended, and forgets them here.
    pub(super) fn flush_ended(&mut self) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        self.ended.sort_unstable();
        self.ended.dedup();
        let has_ended = |no: &JobNo| self.rows.get(no).is_some_and(|row| row.has_ended());
        self.ended.retain(has_ended);
        for (index, no) in self.ended.iter().enumerate() {
            store::save(&transaction, *no, &self.rows[no])?;
            Pace::Gentle.after(index, self.ended.len());
        }
        self.retention.apply(&transaction)?;
        let position = Position { complete: self.stored.complete, reached: self.position };
        store::save_position(&transaction, position)?;
        transaction.commit()?;
        self.stored = position;
        for no in self.ended.drain(..) {
            self.rows.remove(&no);
        }
        Ok(())
    }

    /// Writes everything that has changed.
    pub(super) fn flush(&mut self, pace: Pace) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        for no in &self.new_workers {
            store::save_worker(&transaction, *no, &self.workers[no])?;
        }
        // In order, because that is how the file likes it best.
        let mut fresh: Vec<_> = self.fresh.iter().collect();
        fresh.sort_unstable_by_key(|(no, _)| **no);
        for (index, (no, fresh)) in fresh.iter().enumerate() {
            store::save(&transaction, **no, &Row::of(**no, fresh))?;
            pace.after(index, self.fresh.len());
        }
        let mut changed: Vec<_> = self.rows.iter().filter(|(_, row)| row.changed).collect();
        changed.sort_unstable_by_key(|(no, _)| **no);
        for (index, (no, row)) in changed.into_iter().enumerate() {
            store::save(&transaction, *no, row)?;
            pace.after(index, self.rows.len());
        }
        self.retention.apply(&transaction)?;
        let position = Position { complete: self.position, reached: self.position };
        store::save_position(&transaction, position)?;
        transaction.commit()?;
        self.stored = position;
        self.new_workers.clear();
        self.ended.clear();
        self.fresh.clear();
        self.rows.retain(|_, row| {
            row.changed = false;
            row.unwritten_spec = None;
            !row.has_ended()
        });
        if self.rows.len() > ROWS_MAX / 2 {
            self.rows.clear();
        }
        Ok(())
    }

    /// Forgets what is not written, to read it from the journal again.
    pub(super) fn rewind(&mut self) -> rusqlite::Result<()> {
        self.fresh.clear();
        self.rows.clear();
        self.ended.clear();
        self.new_workers.clear();
        self.stored = store::position(&self.connection)?;
        self.position = self.stored.complete;
        self.workers = store::workers(&self.connection)?;
        Ok(())
    }

    /// Starts over from a state, where the journal no longer has what led to it.
    pub(super) fn import(&mut self, state: &State) -> rusqlite::Result<()> {
        super::schema::create(&self.connection)?;
        self.rewind()?;
        for (no, worker) in state.workers() {
            self.workers.insert(no, worker.id().to_string());
            self.new_workers.push(no);
        }
        for (no, job) in state.jobs() {
            let run = job.run.and_then(|run| state.run(run)).map(|run| run.id.clone());
            let name = |worker| self.workers.get(&worker).cloned().unwrap_or_default();
            self.rows.insert(no, Box::new(Row::known(no, job, run, name)));
        }
        self.position = state.seq();
        self.flush(Pace::Quick)
    }
}
