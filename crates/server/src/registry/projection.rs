//! Events into rows. Rows that change are kept in memory and written once a flush, however often
//! they changed.

use bellwether_core::model::{JobNo, Seq, Timestamp, WorkerNo};
use bellwether_core::{Entry, Event, State};
use bellwether_wire::decision::decision_to_wire;
use bellwether_wire::v1;
use rusqlite::Connection;
use rustc_hash::FxHashMap;

use super::row::Row;
use super::store;
use crate::grpc::state_to_wire;

/// Rows of jobs that have not ended are kept in memory after a flush up to this many.
const ROWS_KEPT_MAX: usize = 50_000;
/// Attempts of one job that are kept; a job that is retried by hand for ever must not grow for ever.
const ATTEMPTS_MAX: usize = 100;

#[derive(Debug)]
pub(super) struct Projection {
    connection: Connection,
    rows: FxHashMap<JobNo, Row>,
    changed: usize,
    workers: FxHashMap<WorkerNo, String>,
    new_workers: Vec<WorkerNo>,
    /// The last entry that was projected, written or not.
    position: Seq,
    pub(super) retention: store::Retention,
}

impl Projection {
    pub(super) fn open(
        connection: Connection,
        retention: store::Retention,
    ) -> rusqlite::Result<Projection> {
        let position = store::position(&connection)?;
        let workers = store::workers(&connection)?;
        Ok(Projection {
            connection,
            rows: FxHashMap::default(),
            changed: 0,
            workers,
            new_workers: Vec::new(),
            position,
            retention,
        })
    }

    pub(super) fn position(&self) -> Seq {
        self.position
    }

    pub(super) fn changed(&self) -> usize {
        self.changed
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
                let run = run.as_ref().map_or("", |run| run.id.as_str());
                for (spec, no) in jobs.iter().zip(first.0..) {
                    self.rows.insert(JobNo(no), Row::new(JobNo(no), spec, run, seq, at));
                    self.changed += 1;
                }
            }
            Event::Assigned { job, worker, hedge, decision } => {
                let worker = self.workers.get(worker).cloned().unwrap_or_default();
                let attempt = v1::AttemptView {
                    token: seq.0,
                    worker,
                    state: "offered".to_owned(),
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
                    row.attempt_ended(*token, "completed", at);
                    row.job.result = result.clone();
                    row.job.result_hash = result_hash.to_vec().into();
                    row.ended(v1::JobState::Completed, String::new(), at);
                })?;
            }
            Event::AttemptFailed { job, token, cause, error } => {
                self.change(*job, seq, |row| row.attempt_failed(*token, *cause, error, at))?;
            }
            Event::Revoked { job, token, .. } => {
                self.change(*job, seq, |row| row.attempt_ended(*token, "revoked", at))?;
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
            | Event::DriftDetected { .. } => {}
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
        self.change(job, seq, |row| row.ended(state, why, at))
    }

    /// Changes the row of a job. One that retention has taken already needs no change.
    fn change(
        &mut self,
        no: JobNo,
        seq: Seq,
        change: impl FnOnce(&mut Row),
    ) -> rusqlite::Result<()> {
        if !self.rows.contains_key(&no) {
            let Some(row) = store::load(&self.connection, no)? else { return Ok(()) };
            self.rows.insert(no, row);
        }
        let Some(row) = self.rows.get_mut(&no) else { return Ok(()) };
        change(row);
        row.job.position = seq.0;
        self.changed += usize::from(!std::mem::replace(&mut row.changed, true));
        Ok(())
    }

    fn id_of(&self, no: JobNo) -> rusqlite::Result<Option<String>> {
        match self.rows.get(&no) {
            Some(row) => Ok(Some(row.id.clone())),
            None => Ok(store::load(&self.connection, no)?.map(|row| row.id)),
        }
    }

    /// Writes what has changed, with the position that it is of.
    pub(super) fn flush(&mut self) -> rusqlite::Result<()> {
        let transaction = self.connection.unchecked_transaction()?;
        for no in &self.new_workers {
            store::save_worker(&transaction, *no, &self.workers[no])?;
        }
        // In order: new rows are then appended to the tables, not scattered over them.
        let mut changed: Vec<(&JobNo, &Row)> =
            self.rows.iter().filter(|(_, row)| row.changed).collect();
        changed.sort_unstable_by_key(|(no, _)| **no);
        for (no, row) in changed {
            store::save(&transaction, *no, row)?;
        }
        self.retention.apply(&transaction)?;
        store::save_position(&transaction, self.position)?;
        transaction.commit()?;
        self.new_workers.clear();
        self.changed = 0;
        self.rows.retain(|_, row| {
            row.changed = false;
            row.unwritten_spec = None;
            !row.has_ended()
        });
        if self.rows.len() > ROWS_KEPT_MAX {
            self.rows.clear();
        }
        Ok(())
    }

    /// Forgets what is not written, to read it from the journal again.
    pub(super) fn rewind(&mut self) -> rusqlite::Result<()> {
        self.rows.clear();
        self.changed = 0;
        self.new_workers.clear();
        self.position = store::position(&self.connection)?;
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
            let run = job.run.and_then(|run| state.run(run)).map_or("", |run| run.id.as_str());
            let mut row = Row::new(no, &job.spec, run, job.last, job.submitted_at);
            row.job.set_state(state_to_wire(&job.state));
            row.job.ended_at = job.ended_at.0;
            row.job.failures = job.failures;
            row.job.crashes = job.crashes;
            self.rows.insert(no, row);
        }
        self.position = state.seq();
        self.flush()
    }
}
