//! Where jobs that have ended lie, and for how long: in a ring of partitions, filled one after the
//! other. When enough newer ones are kept, or the newest of its jobs is old enough, a partition is
//! emptied as a whole.
//!
//! Jobs are counted as they are written, so nobody has to count them.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::row::{Kept, Row};
use super::schema::{self, Home};
use super::store::signed;

/// Partitions that the jobs to be kept are divided into, by their number and by the time of their
/// end. What is kept beyond the limits is at most one of them.
const BY_COUNT: u64 = 10;
const BY_AGE: u64 = 5;
/// As many as may be in use: those, the oldest, and the one that is being filled.
const SLOTS: u8 = 17;
/// Free pages that are given back in one go: about ten milliseconds.
const PAGES_AT_A_TIME: i64 = 200;
/// For so many pages in use one may be free, because the next partition will need them.
const PAGES_PER_FREE: i64 = 5;

/// How much history is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retention {
    pub(super) jobs_max: u64,
    pub(super) keep_for: Duration,
}

impl Retention {
    /// Jobs of one partition.
    pub(super) fn partition_jobs(self) -> u64 {
        self.jobs_max.div_ceil(BY_COUNT).max(1)
    }

    fn keep_micros(self) -> u64 {
        u64::try_from(self.keep_for.as_micros()).unwrap_or(u64::MAX)
    }
}

/// The number of a partition; 0 is for jobs that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot(u8);

impl Slot {
    pub(super) fn all() -> impl Iterator<Item = Slot> {
        (1..=SLOTS).map(Slot)
    }

    pub(super) fn number(self) -> u8 {
        self.0
    }

    pub(super) fn of_number(number: u8) -> Option<Slot> {
        (1..=SLOTS).contains(&number).then_some(Slot(number))
    }
}

#[derive(Debug)]
pub(super) struct Partitions {
    retention: Retention,
    /// One for each slot.
    all: Vec<Partition>,
    /// Pages may be free that nobody needs.
    may_shrink: bool,
}

#[derive(Debug, Clone, Default)]
struct Partition {
    /// Its place in the order of partitions; 0 if it is empty.
    opened: u64,
    first_ended_at: u64,
    last_ended_at: u64,
    /// Jobs by state.
    counts: BTreeMap<i32, u64>,
    changed: bool,
}

impl Partition {
    fn jobs(&self) -> u64 {
        self.counts.values().sum()
    }
}

impl Partitions {
    pub(super) fn load(connection: &Connection, retention: Retention) -> rusqlite::Result<Self> {
        let mut all = vec![Partition::default(); usize::from(SLOTS)];
        let unsigned =
            |row: &rusqlite::Row<'_>, column| row.get::<_, i64>(column).map(i64::unsigned_abs);
        let mut statement = connection
            .prepare("SELECT slot, opened, first_ended_at, last_ended_at FROM partitions")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(partition) = all.get_mut(usize::from(row.get::<_, u8>(0)?) - 1) else {
                continue;
            };
            partition.opened = unsigned(row, 1)?;
            partition.first_ended_at = unsigned(row, 2)?;
            partition.last_ended_at = unsigned(row, 3)?;
        }
        let mut statement = connection.prepare("SELECT slot, state, count FROM ended_counts")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let Some(partition) = all.get_mut(usize::from(row.get::<_, u8>(0)?) - 1) else {
                continue;
            };
            partition.counts.insert(row.get(1)?, unsigned(row, 2)?);
        }
        Ok(Partitions { retention, all, may_shrink: true })
    }

    /// Where a row belongs now. If it lies in a partition, it is no longer counted there.
    pub(super) fn home(&mut self, connection: &Connection, row: &Row) -> rusqlite::Result<Home> {
        self.leave(row);
        if !row.has_ended() {
            return Ok(Home::Live);
        }
        self.place(connection, row.job.state, row.job.ended_at).map(Home::Ended)
    }

    /// A row that is taken away is no longer counted.
    pub(super) fn leave(&mut self, row: &Row) {
        if let Kept::Ended { slot, state } = row.kept {
            self.take_out(slot, state);
        }
    }

    fn place(
        &mut self,
        connection: &Connection,
        state: i32,
        ended_at: u64,
    ) -> rusqlite::Result<Slot> {
        let slot = match self.newest() {
            Some(slot) if self.has_room(slot, ended_at) => slot,
            newest => self.open(connection, newest)?,
        };
        let partition = self.of(slot);
        if partition.counts.is_empty() {
            partition.first_ended_at = ended_at;
        }
        partition.last_ended_at = partition.last_ended_at.max(ended_at);
        *partition.counts.entry(state).or_default() += 1;
        partition.changed = true;
        Ok(slot)
    }

    fn take_out(&mut self, slot: Slot, state: i32) {
        let partition = self.of(slot);
        if let Some(count) = partition.counts.get_mut(&state) {
            *count = count.saturating_sub(1);
            partition.changed = true;
        }
    }

    /// Empties what need not be kept any longer.
    pub(super) fn forget(&mut self, connection: &Connection, now: u64) -> rusqlite::Result<()> {
        let too_old = now.saturating_sub(self.retention.keep_micros());
        while let Some(oldest) = self.oldest() {
            let jobs: u64 = self.all.iter().map(Partition::jobs).sum();
            let partition = self.of(oldest);
            let newer = jobs - partition.jobs();
            if newer < self.retention.jobs_max && self.of(oldest).last_ended_at >= too_old {
                break;
            }
            self.empty(connection, oldest)?;
        }
        Ok(())
    }

    /// Writes down what has changed.
    pub(super) fn save(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for (slot, partition) in Slot::all().zip(&mut self.all) {
            if !std::mem::take(&mut partition.changed) {
                continue;
            }
            let Partition { opened, first_ended_at, last_ended_at, .. } = *partition;
            connection
                .prepare_cached("INSERT OR REPLACE INTO partitions VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![
                    slot.number(),
                    signed(opened),
                    signed(first_ended_at),
                    signed(last_ended_at),
                ])?;
            connection
                .prepare_cached("DELETE FROM ended_counts WHERE slot = ?1")?
                .execute([slot.number()])?;
            for (state, count) in &partition.counts {
                connection
                    .prepare_cached("INSERT INTO ended_counts VALUES (?1, ?2, ?3)")?
                    .execute(params![slot.number(), state, signed(*count)])?;
            }
        }
        Ok(())
    }

    /// Gives back to the disk what more is free than the next partition will take.
    pub(super) fn shrink(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.may_shrink {
            return Ok(());
        }
        let free = schema::number(connection, "freelist_count")?;
        let used = schema::number(connection, "page_count")? - free;
        if free - used / PAGES_PER_FREE <= PAGES_AT_A_TIME {
            self.may_shrink = false;
            return Ok(());
        }
        // Each page is a step of its own.
        let mut statement =
            connection.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_AT_A_TIME})"))?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
        // The file itself gets shorter once the log is copied into it.
        connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)")
    }

    fn of(&mut self, slot: Slot) -> &mut Partition {
        &mut self.all[usize::from(slot.0) - 1]
    }

    fn in_use(&self) -> impl Iterator<Item = (Slot, u64)> {
        let opened = Slot::all().zip(self.all.iter().map(|partition| partition.opened));
        opened.filter(|(_, opened)| *opened > 0)
    }

    fn newest(&self) -> Option<Slot> {
        self.in_use().max_by_key(|(_, opened)| *opened).map(|(slot, _)| slot)
    }

    fn oldest(&self) -> Option<Slot> {
        self.in_use().min_by_key(|(_, opened)| *opened).map(|(slot, _)| slot)
    }

    fn has_room(&mut self, slot: Slot, ended_at: u64) -> bool {
        let retention = self.retention;
        let partition = self.of(slot);
        let span = ended_at.saturating_sub(partition.first_ended_at);
        partition.jobs() < retention.partition_jobs() && span <= retention.keep_micros() / BY_AGE
    }

    fn open(&mut self, connection: &Connection, newest: Option<Slot>) -> rusqlite::Result<Slot> {
        let opened = newest.map_or(1, |newest| self.of(newest).opened + 1);
        if let Some(full) = newest {
            schema::index_workers(connection, Home::Ended(full))?;
        }
        let free = Slot::all().find(|slot| self.of(*slot).opened == 0);
        let slot = match (free, self.oldest()) {
            (Some(free), _) => free,
            // Retention leaves one free, unless clocks jump.
            (None, oldest) => {
                let oldest = oldest.expect("where none is free, one is in use");
                self.empty(connection, oldest)?;
                oldest
            }
        };
        *self.of(slot) = Partition { opened, changed: true, ..Partition::default() };
        Ok(slot)
    }

    fn empty(&mut self, connection: &Connection, slot: Slot) -> rusqlite::Result<()> {
        schema::drop_workers_index(connection, Home::Ended(slot))?;
        // Without a condition: pages are set free, and no row is looked at.
        let sql = format!("DELETE FROM {}", Home::Ended(slot).table());
        connection.prepare_cached(&sql)?.execute([])?;
        connection.prepare_cached("DELETE FROM tags WHERE home = ?1")?.execute([slot.number()])?;
        *self.of(slot) = Partition { changed: true, ..Partition::default() };
        self.may_shrink = true;
        Ok(())
    }
}
