//! The database: its tables, and what lies in them. Every value has a hash beside it.

use std::io;
use std::path::Path;
use std::time::Duration;

use bellwether_core::model::Seq;
use bellwether_journal::{Damage, Flaw, Head, OpenError, ReadError};
use bellwether_wire::v1;
use openraft::EntryPayload;
use prost::Message;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};

use super::applied::Mark;
use crate::door::MemberId;
use crate::raft::types::{LogEntry, LogId, StoredMembership, Vote};
use crate::raft::wire;

const FILE: &str = "raft.sqlite";
/// Entries that are fetched at once.
const FETCH_ENTRIES: usize = 500;
/// And about how many bytes of them.
const FETCH_BYTES: usize = 4 << 20;
/// Entries that are forgotten along with an append: a purge of all at once would hold up the next ones.
const FORGET_ENTRIES: u64 = 200;
/// Pages in SQLite's own log at which it is copied into the database.
const CHECKPOINT_PAGES: u32 = 4_000;

const OWNER: &str = "owner";
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const BASE: &str = "base";
const INSTALLING: &str = "installing";

#[derive(Debug)]
pub(super) struct Database(Connection);

/// An entry as it is kept.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) index: u64,
    /// Of the record, if it is one.
    first: Option<Seq>,
    bytes: Vec<u8>,
}

impl Row {
    pub(super) fn of(entry: &LogEntry) -> Row {
        let first = match &entry.payload {
            EntryPayload::Normal(proposal) => Some(proposal.prior.seq.next()),
            EntryPayload::Blank | EntryPayload::Membership(_) => None,
        };
        Row { index: entry.log_id.index, first, bytes: wire::entry_to_wire(entry).encode_to_vec() }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error("{0} does not match its hash")]
    Damaged(&'static str),
    #[error(transparent)]
    Garbled(#[from] wire::Garbled),
    #[error("{0} can't be read: {1}")]
    Unreadable(&'static str, prost::DecodeError),
    #[error("the directory belongs to member {0}, not to {1}")]
    NotOwner(MemberId, MemberId),
}

impl Database {
    pub(super) fn is_in(dir: &Path) -> bool {
        dir.join(FILE).exists()
    }

    pub(super) fn open(dir: &Path, id: MemberId) -> Result<Database, StoreError> {
        let connection = Connection::open(dir.join(FILE))?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
        connection.execute_batch(
            "BEGIN IMMEDIATE;
             CREATE TABLE IF NOT EXISTS log (
                 position INTEGER PRIMARY KEY, first INTEGER, entry BLOB NOT NULL,
                 hash BLOB NOT NULL);
             CREATE INDEX IF NOT EXISTS log_first ON log (first) WHERE first IS NOT NULL;
             CREATE INDEX IF NOT EXISTS log_others ON log (position) WHERE first IS NULL;
             CREATE TABLE IF NOT EXISTS notes (
                 name TEXT PRIMARY KEY, value BLOB NOT NULL, hash BLOB NOT NULL) WITHOUT ROWID;
             COMMIT;",
        )?;
        let database = Database(connection);
        match database.owner()? {
            None => database.write_note(OWNER, &id.0.to_le_bytes())?,
            Some(owner) if owner == id => {}
            Some(owner) => return Err(StoreError::NotOwner(owner, id)),
        }
        Ok(database)
    }

    pub(super) fn look(dir: &Path) -> Result<Database, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(dir.join(FILE), flags)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        Ok(Database(connection))
    }

    pub(super) fn owner(&self) -> Result<Option<MemberId>, StoreError> {
        let Some(bytes) = self.note(OWNER)? else { return Ok(None) };
        let bytes = bytes.try_into().map_err(|_| StoreError::Damaged(OWNER))?;
        Ok(Some(MemberId(u16::from_le_bytes(bytes))))
    }

    pub(super) fn vote(&self) -> Result<Option<Vote>, StoreError> {
        let vote = self.message::<v1::MemberVote>(VOTE)?;
        Ok(vote.map(|vote| wire::vote_from_wire(Some(vote))).transpose()?)
    }

    pub(super) fn write_vote(&self, vote: &Vote) -> Result<(), StoreError> {
        self.write_note(VOTE, &wire::vote_to_wire(vote).encode_to_vec())
    }

    pub(super) fn committed(&self) -> Result<Option<LogId>, StoreError> {
        Ok(self.message(COMMITTED)?.map(wire::place_from_wire))
    }

    pub(super) fn write_committed(&self, committed: &LogId) -> Result<(), StoreError> {
        self.write_note(COMMITTED, &wire::place_to_wire(committed).encode_to_vec())
    }

    pub(super) fn base(&self) -> Result<Mark, StoreError> {
        self.message(BASE)?.map_or(Ok(Mark::default()), |mark| Ok(mark_from_wire(mark)?))
    }

    pub(super) fn write_base(&self, base: &Mark) -> Result<(), StoreError> {
        self.write_note(BASE, &mark_to_wire(base).encode_to_vec())
    }

    /// A snapshot that is about to replace what is here.
    pub(super) fn installing(&self) -> Result<Option<Mark>, StoreError> {
        Ok(self.message(INSTALLING)?.map(mark_from_wire).transpose()?)
    }

    pub(super) fn write_installing(&self, mark: Option<&Mark>) -> Result<(), StoreError> {
        match mark {
            Some(mark) => self.write_note(INSTALLING, &mark_to_wire(mark).encode_to_vec()),
            None => {
                self.0.execute("DELETE FROM notes WHERE name = ?1", [INSTALLING])?;
                Ok(())
            }
        }
    }

    pub(super) fn append(&self, rows: &[Row]) -> Result<(), StoreError> {
        let mut insert = self.0.prepare_cached(
            "INSERT OR REPLACE INTO log (position, first, entry, hash) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for row in rows {
            let first = row.first.map(|seq| signed(seq.0));
            let hash = blake3::hash(&row.bytes);
            insert.execute(params![signed(row.index), first, row.bytes, hash.as_bytes()])?;
        }
        Ok(())
    }

    pub(super) fn truncate_from(&self, index: u64) -> Result<(), StoreError> {
        self.0.execute("DELETE FROM log WHERE position >= ?1", [signed(index)])?;
        Ok(())
    }

    pub(super) fn forget_up_to(&self, index: u64) -> Result<(), StoreError> {
        self.0.execute("DELETE FROM log WHERE position <= ?1", [signed(index)])?;
        Ok(())
    }

    /// The same for a few of the oldest entries; whether that was all.
    pub(super) fn forget_some_up_to(&self, index: u64) -> Result<bool, StoreError> {
        let sql = "SELECT MIN(position) FROM log";
        let oldest: Option<i64> = self.0.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
        let Some(oldest) = oldest.map(unsigned).filter(|oldest| *oldest <= index) else {
            return Ok(true);
        };
        let last = index.min(oldest + FORGET_ENTRIES);
        self.0.prepare_cached("DELETE FROM log WHERE position <= ?1")?.execute([signed(last)])?;
        Ok(last == index)
    }

    /// The work as a whole, or none of it; durable when it returns.
    pub(super) fn transaction(
        &self,
        work: impl FnOnce(&Database) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.0.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let done =
            work(self).and_then(|()| Ok(self.0.prepare_cached("COMMIT")?.execute([]).map(drop)?));
        if done.is_err() && !self.0.is_autocommit() {
            self.0.execute_batch("ROLLBACK")?;
        }
        done
    }

    /// The last entry behind this place.
    pub(super) fn last(&self, behind: Option<u64>) -> Result<Option<LogId>, StoreError> {
        let sql = "SELECT entry, hash FROM log WHERE position >= ?1 ORDER BY position DESC LIMIT 1";
        let from = signed(behind.map_or(0, |behind| behind + 1));
        let found =
            self.0.query_row(sql, [from], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        found.map(|(bytes, hash)| Ok(entry(bytes, hash)?.log_id)).transpose()
    }

    pub(super) fn entry_at(&self, index: u64) -> Result<Option<LogEntry>, StoreError> {
        Ok(self.fetch(index, index + 1)?.pop())
    }

    /// The index of the record that holds this position, or would: the last that starts at or before.
    pub(super) fn holder_of(&self, seq: Seq) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT position FROM log WHERE first <= ?1 AND first IS NOT NULL
                   ORDER BY first DESC LIMIT 1";
        let found = self.0.prepare_cached(sql)?.query_row([signed(seq.0)], |row| row.get(0));
        Ok(found.optional()?.map(unsigned))
    }

    /// The index of the record that starts here.
    pub(super) fn starting_at(&self, seq: Seq) -> Result<Option<u64>, StoreError> {
        let sql = "SELECT position FROM log WHERE first = ?1 AND first IS NOT NULL";
        let found = self.0.prepare_cached(sql)?.query_row([signed(seq.0)], |row| row.get(0));
        Ok(found.optional()?.map(unsigned))
    }

    /// The entries without a record behind one place and up to another.
    pub(super) fn others_between(
        &self,
        behind: Option<u64>,
        up_to: u64,
    ) -> Result<Vec<LogEntry>, StoreError> {
        let mut statement = self.0.prepare_cached(
            "SELECT entry, hash FROM log WHERE first IS NULL AND position >= ?1 AND position <= ?2
             ORDER BY position",
        )?;
        let from = behind.map_or(0, |behind| behind + 1);
        let mut rows = statement.query([signed(from), signed(up_to)])?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next()? {
            entries.push(entry(row.get(0)?, row.get(1)?)?);
        }
        Ok(entries)
    }

    /// How far the journal went at this place.
    pub(super) fn head_at(&self, index: u64) -> Result<Option<Head>, StoreError> {
        let sql = "SELECT entry, hash FROM log WHERE position <= ?1 AND first IS NOT NULL
                   ORDER BY position DESC LIMIT 1";
        let found = self
            .0
            .query_row(sql, [signed(index)], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((bytes, hash)) = found else { return Ok(None) };
        match entry(bytes, hash)?.payload {
            EntryPayload::Normal(proposal) => Ok(Some(proposal.head)),
            EntryPayload::Blank | EntryPayload::Membership(_) => Ok(None),
        }
    }

    /// Some entries from `from` on and before `end`.
    pub(super) fn fetch(&self, from: u64, end: u64) -> Result<Vec<LogEntry>, StoreError> {
        let mut statement = self.0.prepare_cached(
            "SELECT entry, hash FROM log WHERE position >= ?1 AND position < ?2 ORDER BY position",
        )?;
        let mut rows = statement.query([signed(from), signed(end.min(i64::MAX as u64))])?;
        let mut entries = Vec::new();
        let mut fetched = 0;
        while let Some(row) = rows.next()? {
            let bytes: Vec<u8> = row.get(0)?;
            fetched += bytes.len();
            entries.push(entry(bytes, row.get(1)?)?);
            if fetched >= FETCH_BYTES || entries.len() >= FETCH_ENTRIES {
                break;
            }
        }
        Ok(entries)
    }

    pub(super) fn entries_after(
        &self,
        index: Option<u64>,
    ) -> impl Iterator<Item = Result<LogEntry, StoreError>> + '_ {
        let mut next = index.map_or(0, |index| index + 1);
        let mut fetched = Vec::new().into_iter();
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            if fetched.len() == 0 {
                match self.fetch(next, u64::MAX) {
                    Ok(entries) => fetched = entries.into_iter(),
                    Err(error) => {
                        ended = true;
                        return Some(Err(error));
                    }
                }
            }
            let entry: LogEntry = fetched.next()?;
            next = entry.log_id.index + 1;
            Some(Ok(entry))
        })
    }

    fn note(&self, name: &'static str) -> Result<Option<Vec<u8>>, StoreError> {
        let sql = "SELECT value, hash FROM notes WHERE name = ?1";
        let found: Option<(Vec<u8>, Vec<u8>)> =
            self.0.query_row(sql, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((value, hash)) = found else { return Ok(None) };
        if blake3::hash(&value).as_bytes()[..] != hash[..] {
            return Err(StoreError::Damaged(name));
        }
        Ok(Some(value))
    }

    fn write_note(&self, name: &'static str, value: &[u8]) -> Result<(), StoreError> {
        self.0
            .prepare_cached("INSERT OR REPLACE INTO notes (name, value, hash) VALUES (?1, ?2, ?3)")?
            .execute(params![name, value, blake3::hash(value).as_bytes()])?;
        Ok(())
    }

    fn message<M: Message + Default>(&self, name: &'static str) -> Result<Option<M>, StoreError> {
        let Some(bytes) = self.note(name)? else { return Ok(None) };
        let read = M::decode(bytes.as_slice());
        read.map(Some).map_err(|error| StoreError::Unreadable(name, error))
    }
}

fn entry(bytes: Vec<u8>, hash: Vec<u8>) -> Result<LogEntry, StoreError> {
    if blake3::hash(&bytes).as_bytes()[..] != hash[..] {
        return Err(StoreError::Damaged("an entry of the log"));
    }
    let message = v1::LogEntry::decode(bytes::Bytes::from(bytes))
        .map_err(|error| StoreError::Unreadable("an entry of the log", error))?;
    Ok(wire::entry_from_wire(message)?)
}

pub(crate) fn mark_to_wire(mark: &Mark) -> v1::SnapshotMark {
    v1::SnapshotMark {
        last: mark.last.as_ref().map(wire::place_to_wire),
        membership_at: mark.membership.log_id().as_ref().map(wire::place_to_wire),
        membership: Some(wire::membership_to_wire(mark.membership.membership())),
        position: mark.head.seq.0,
        chain: mark.head.chain.0.to_vec().into(),
        last_member: u32::from(mark.last_member),
    }
}

pub(crate) fn mark_from_wire(mark: v1::SnapshotMark) -> Result<Mark, wire::Garbled> {
    let membership = wire::membership_from_wire(mark.membership.unwrap_or_default());
    let at = mark.membership_at.map(wire::place_from_wire);
    Ok(Mark {
        last: mark.last.map(wire::place_from_wire),
        head: wire::head_from_wire(mark.position, &mark.chain)?,
        membership: StoredMembership::new(at, membership),
        last_member: u16::try_from(mark.last_member)
            .map_err(|_| wire::Garbled("a member's number is too large"))?,
    })
}

pub(super) fn open_error(error: StoreError) -> OpenError {
    match error {
        StoreError::Sqlite(error) if error.sqlite_error_code() == Some(ErrorCode::DiskFull) => {
            OpenError::Full
        }
        StoreError::NotOwner(..) => OpenError::Io(super::other(error)),
        error => match read_error(error) {
            ReadError::Damaged(damage) => OpenError::Damaged(damage),
            error => OpenError::Io(io::Error::other(error)),
        },
    }
}

pub(super) fn read_error(error: StoreError) -> ReadError {
    match error {
        StoreError::Sqlite(_) | StoreError::NotOwner(..) => ReadError::Io(super::other(error)),
        StoreError::Damaged(_) | StoreError::Garbled(_) | StoreError::Unreadable(..) => {
            let flaw = Flaw::Storage { why: error.to_string() };
            ReadError::Damaged(Damage { at: Seq(1), flaw })
        }
    }
}

/// SQLite's integers are signed; places in the log stay far below the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
