//! Events into rows.

use bellwether_core::model::{JobNo, Seq, Timestamp, WorkerNo};
use bellwether_core::{Entry, Event, State};
use bellwether_wire::decision::decision_to_wire;
use bellwether_wire::v1;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::row::{Fresh, Row};
use super::store::{self, Position};
use crate::edges::desk::state_to_wire;
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
/// Attempts of one job that are kept; a job that is retried by hand for ever must not grow for ever.
const ATTEMPTS_MAX: usize = 100;

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
        let (seq, at) = (entry.seq, entry.at);
        match &entry.event {
            Event::Submitted { run, first, jobs } => {
                for (spec, no) in jobs.iter().zip(first.0..).map(|(spec, no)| (spec, JobNo(no))) {
                    // It may have ended and been written before a crash.
                    let again = seq <= self.stored.reached;
                    if again && store::exists(&self.connection, no)? {
                        continue;
                    }
                    let run = run.as_ref().map(|run| run.id.clone());
                    self.fresh.insert(no, Fresh { spec: spec.clone(), run, seq, at });
                }
            }
            Event::Assigned { job, worker, hedge, decision } => {
                let worker = self.workers.get(worker).cloned().unwrap_or_default();
                let attempt = v1::AttemptView {
                    token: seq.0,
                    worker,
                    state: v1::AttemptState::Offered.into(),
                    hedge: *hedge,
                    offered_at: at.0,
                    decision: Some(decision_to_wire(decision)),
                    ..Default::default()
                };
                self.change(*job, seq, |row| {
                    if row.job.attempts.len() >= ATTEMPTS_MAX {
                        row.job.attempts.remove(0);
                    }
                    row.assigned(attempt);
                })?;
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                self.change(*job, seq, |row| row.started(*token, at))?;
            }
            Event::Progressed { job, token, permille, note } => {
                self.change(*job, seq, |row| {
                    row.started(*token, at);
                    row.job.progress_permille = *permille;
                    row.job.progress_note.clone_from(note);
                })?;
            }
            Event::Completed { job, token, result, result_hash } => {
                self.change(*job, seq, |row| {
                    row.started(*token, at);
                    row.attempt_ended(*token, v1::AttemptState::Completed, at);
                    row.job.result = result.clone();
                    row.job.result_hash = result_hash.to_vec().into();
                })?;
                self.end(*job, seq, v1::JobState::Completed, String::new(), at)?;
            }
            Event::AttemptFailed { job, token, cause, error } => {
                self.change(*job, seq, |row| row.attempt_failed(*token, *cause, error, at))?;
            }
            Event::Revoked { job, token, reason } => {
                self.change(*job, seq, |row| row.attempt_revoked(*token, *reason, at))?;
            }
            Event::Retried { job, not_before } => {
                let waits = *not_before > at;
                let state = if waits { v1::JobState::Delayed } else { v1::JobState::Ready };
                self.change(*job, seq, |row| row.job.set_state(state))?;
            }
            Event::Due { job } | Event::Escalated { job, .. } => {
                self.change(*job, seq, |row| row.job.set_state(v1::JobState::Ready))?;
            }
            Event::DeadLettered { job, reason } => {
                let why = format!("dead-lettered: {reason:?}");
                self.end(*job, seq, v1::JobState::DeadLettered, why, at)?;
            }
            Event::Failed { job, cause } => {
                self.end(*job, seq, v1::JobState::Failed, format!("failed: {cause:?}"), at)?;
            }
            Event::Skipped { job, because } => {
                let why = match self.id_of(*because)? {
                    Some(id) if because != job => format!("its dependency {id} did not complete"),
                    _ => "a dependency did not complete".to_owned(),
                };
                self.end(*job, seq, v1::JobState::Skipped, why, at)?;
            }
            Event::Cancelled { job, reason } => {
                let why = if reason.is_empty() { "cancelled" } else { reason };
                self.end(*job, seq, v1::JobState::Cancelled, why.to_owned(), at)?;
            }
            Event::Reopened { job } => self.change(*job, seq, Row::reopened)?,
            Event::WorkerJoined { worker, spec } => {
                self.workers.insert(*worker, spec.id.to_string());
                self.new_workers.push(*worker);
            }
            Event::Pinned { .. }
            | Event::WorkerReturned { .. }
            | Event::WorkerReported { .. }
            | Event::WorkerDraining { .. }
            | Event::WorkerUndrained { .. }
            | Event::WorkerLost { .. }
            | Event::WorkerLeft { .. }
            | Event::ModelLoaded { .. }
            | Event::Paused { .. }
            | Event::Unpaused { .. }
            | Event::Configured { .. }
            | Event::PredictorFailed { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed
            | Event::DriftDetected { .. }
            | Event::Warmed { .. } => {}
        }
        Ok(())
    }

    fn end(
        &mut self,
        job: JobNo,
        seq: Seq,
        state: v1::JobState,
        why: String,
        at: Timestamp,
    ) -> rusqlite::Result<()> {
        self.change(job, seq, |row| row.ended(state, why, at))?;
        self.ended.push(job);
        Ok(())
    }

    /// Changes the row of a job. One that retention has taken already needs no change, nor one that
    /// knows of this event.
    fn change(
        &mut self,
        no: JobNo,
        seq: Seq,
        change: impl FnOnce(&mut Row),
    ) -> rusqlite::Result<()> {
        if !self.rows.contains_key(&no) {
            let row = match self.fresh.remove(&no) {
                Some(fresh) => Row::of(no, &fresh),
                None => match store::load(&self.connection, no)? {
                    Some(row) => row,
                    None => return Ok(()),
                },
            };
            self.rows.insert(no, Box::new(row));
        }
        let Some(row) = self.rows.get_mut(&no) else { return Ok(()) };
        if row.job.position > seq.0 || (row.job.position == seq.0 && !row.changed) {
            return Ok(());
        }
        change(row);
        row.job.position = seq.0;
        row.changed = true;
        Ok(())
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
            let (spec, seq, at) = (job.spec.clone(), job.last, job.submitted_at);
            let mut row = Row::of(no, &Fresh { spec, run, seq, at });
            row.job.set_state(state_to_wire(&job.state));
            row.job.ended_at = job.ended_at.0;
            row.job.failures = job.counts.failures;
            row.job.crashes = job.counts.crashes;
            self.rows.insert(no, Box::new(row));
        }
        self.position = state.seq();
        self.flush(Pace::Quick)
    }
}
