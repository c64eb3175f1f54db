//! What is not in the file yet, and rows at hand that something may happen to.

use std::collections::VecDeque;
use std::sync::Arc;

use bellwether_core::model::{JobNo, JobSpec, Seq};
use bellwether_wire::v1;
use rustc_hash::FxHashMap;

use super::row::{Fresh, Kept, Row};

/// Jobs that nothing has happened to, kept in memory until they are written: a hundred bytes each, or
/// five hundred where the journal had to be read for them.
const FRESH_MAX: usize = 100_000;
/// Other rows in memory.
const ROWS_MAX: usize = 50_000;

#[derive(Debug, Default)]
pub(super) struct Pending {
    fresh: FxHashMap<JobNo, Fresh>,
    rows: FxHashMap<JobNo, Box<Row>>,
    /// Jobs by the first of their events that is not written. Some may be written by now.
    unwritten: VecDeque<(Seq, JobNo)>,
    /// Jobs that the next write is for whatever their age: they have ended, or were reopened.
    due: Vec<JobNo>,
}

impl Pending {
    pub(super) fn due(&self) -> usize {
        self.due.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.unwritten.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.fresh.len() > FRESH_MAX || self.rows.len() > ROWS_MAX
    }

    pub(super) fn fresh(&mut self, no: JobNo) -> Option<&mut Fresh> {
        self.fresh.get_mut(&no)
    }

    pub(super) fn take(&mut self, no: JobNo, fresh: Fresh) {
        self.unwritten.push_back((fresh.since, no));
        self.fresh.insert(no, fresh);
    }

    pub(super) fn remember(&mut self, no: JobNo, row: Row) {
        if let Some(since) = row.unwritten_since {
            self.unwritten.push_back((since, no));
        }
        self.rows.insert(no, Box::new(row));
    }

    /// Whether the job is here; one that was fresh is a row from now on.
    pub(super) fn has_row(&mut self, no: JobNo) -> bool {
        if let Some(fresh) = self.fresh.remove(&no) {
            self.rows.insert(no, Box::new(Row::of(no, &fresh)));
            return true;
        }
        self.rows.contains_key(&no)
    }

    /// Changes a row, unless it knows of this event.
    pub(super) fn change(&mut self, no: JobNo, seq: Seq, change: impl FnOnce(&mut Row)) {
        let Some(row) = self.rows.get_mut(&no) else { return };
        let is_written = row.unwritten_since.is_none();
        if row.job.position > seq.0 || (row.job.position == seq.0 && is_written) {
            return;
        }
        change(row);
        row.job.position = seq.0;
        if is_written {
            row.unwritten_since = Some(seq);
            self.unwritten.push_back((seq, no));
        }
        if row.has_ended() || matches!(row.kept, Kept::Ended { .. }) {
            self.due.push(no);
        }
    }

    /// A job as it is here, and what was submitted if that is not in the file yet.
    pub(super) fn known(&self, no: JobNo) -> Option<(v1::Job, Option<Arc<JobSpec>>)> {
        if let Some(fresh) = self.fresh.get(&no) {
            return Some((Row::of(no, fresh).job, Some(Arc::clone(&fresh.spec))));
        }
        let row = self.rows.get(&no)?;
        let spec = match &row.kept {
            Kept::Nowhere(spec) => Some(Arc::clone(spec)),
            Kept::Live | Kept::Ended { .. } => None,
        };
        Some((row.job.clone(), spec))
    }

    pub(super) fn id_of(&self, no: JobNo) -> Option<String> {
        if let Some(fresh) = self.fresh.get(&no) {
            return Some(fresh.spec.id.to_string());
        }
        match &self.rows.get(&no)?.kept {
            Kept::Nowhere(spec) => Some(spec.id.to_string()),
            Kept::Live | Kept::Ended { .. } => None,
        }
    }

    /// What to write next: the jobs that are due, and those with events up to this position. In
    /// order, because that is how the file likes it best, and those that have ended last: a partition
    /// may have to be emptied for them from which another was reopened.
    pub(super) fn batch(&mut self, up_to: Seq) -> Vec<JobNo> {
        let mut batch = std::mem::take(&mut self.due);
        while let Some((since, no)) = self.unwritten.front()
            && *since <= up_to
        {
            batch.push(*no);
            self.unwritten.pop_front();
        }
        batch.retain(|no| self.unwritten_since(*no).is_some());
        let has_ended = |no: &JobNo| self.rows.get(no).is_some_and(|row| row.has_ended());
        batch.sort_by_cached_key(|no| (has_ended(no), *no));
        batch.dedup();
        batch
    }

    pub(super) fn with_row<T>(&self, no: JobNo, use_row: impl FnOnce(&Row) -> T) -> T {
        match self.fresh.get(&no) {
            Some(fresh) => use_row(&Row::of(no, fresh)),
            None => use_row(&self.rows[&no]),
        }
    }

    pub(super) fn forget_written(&mut self, batch: &[JobNo]) {
        for no in batch {
            if self.fresh.remove(no).is_some() {
                continue;
            }
            let Some(row) = self.rows.get_mut(no) else { continue };
            if row.has_ended() {
                self.rows.remove(no);
            } else {
                row.kept = Kept::Live;
                row.unwritten_since = None;
            }
        }
        if self.rows.len() > ROWS_MAX / 2 {
            self.rows.retain(|_, row| row.unwritten_since.is_some());
        }
    }

    /// The first event that is not in the file.
    pub(super) fn first_unwritten(&mut self) -> Option<Seq> {
        while let Some((since, no)) = self.unwritten.front().copied() {
            if self.unwritten_since(no) == Some(since) {
                return Some(since);
            }
            self.unwritten.pop_front();
        }
        None
    }

    fn unwritten_since(&self, no: JobNo) -> Option<Seq> {
        match self.rows.get(&no) {
            Some(row) => row.unwritten_since,
            None => self.fresh.get(&no).map(|fresh| fresh.since),
        }
    }
}
