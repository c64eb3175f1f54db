//! Records out of the database, verified one by one.

use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension as _};

use super::connection::{self, Meta};
use super::failure::read_error;
use super::signed;
use crate::chain::{Chain, Head};
use crate::codec::decode::{self, Record};
use crate::disk::snapshots::SnapshotFiles;
use crate::disk::witness::Testimony;
use crate::journal::{Damage, Flaw, OpenError, ReadError, Reader, Records, trim};
use crate::snapshot::Snapshots;

/// Bytes of records that are fetched at once.
const FETCH_BYTES: usize = 4 << 20;
/// And how many at most.
const FETCH_RECORDS: usize = 1_000;

#[derive(Debug)]
pub(super) struct SqliteReader {
    connection: Connection,
    dir: PathBuf,
}

#[derive(Debug)]
struct Row {
    first: Seq,
    chain: Chain,
    bytes: Bytes,
}

impl SqliteReader {
    pub(super) fn new(connection: Connection, dir: &Path) -> SqliteReader {
        SqliteReader { connection, dir: dir.to_owned() }
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn meta(&self) -> Result<Meta, ReadError> {
        connection::read_meta(&self.connection).map_err(|error| read_error(Seq(1), error))
    }

    /// Reads everything once. Gives the head.
    pub(super) fn verify(&self, testimony: &Testimony) -> Result<Head, OpenError> {
        let mut head = self.meta()?.base;
        testimony.compare(head)?;
        for row in self.rows_after(head) {
            head = row?.head;
            testimony.compare(head)?;
        }
        testimony.conclude(head)?;
        Ok(head)
    }

    /// Verified rows, the first of which follows `prior`.
    fn rows_after(&self, prior: Head) -> impl Iterator<Item = Result<Verified, ReadError>> {
        let mut prior = prior;
        let mut fetched = Vec::new().into_iter();
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            if fetched.len() == 0 {
                match self.fetch(prior.seq.next()) {
                    Ok(rows) => fetched = rows.into_iter(),
                    Err(error) => {
                        ended = true;
                        return Some(Err(read_error(prior.seq.next(), error)));
                    }
                }
            }
            let row = Verified::new(prior, fetched.next()?);
            match &row {
                Ok(row) => prior = row.head,
                Err(_) => ended = true,
            }
            Some(row)
        })
    }

    /// Some rows from `from` on; none at the end.
    fn fetch(&self, from: Seq) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.connection.prepare_cached(
            "SELECT first, chain, bytes FROM records WHERE first >= ?1 ORDER BY first",
        )?;
        let mut rows = statement.query([signed(from)])?;
        let mut fetched = Vec::new();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            let record: Vec<u8> = row.get(2)?;
            bytes += record.len();
            let first = Seq(row.get::<_, i64>(0)? as u64);
            fetched.push(Row { first, chain: Chain(row.get(1)?), bytes: record.into() });
            if bytes >= FETCH_BYTES || fetched.len() >= FETCH_RECORDS {
                break;
            }
        }
        Ok(fetched)
    }
}

/// A record that matches its hash.
#[derive(Debug)]
struct Verified {
    prior: Head,
    head: Head,
    bytes: Bytes,
}

impl Verified {
    fn new(prior: Head, row: Row) -> Result<Verified, ReadError> {
        if row.first != prior.seq.next() {
            let flaw = Flaw::Gap { found: row.first };
            return Err(Damage { at: prior.seq.next(), flaw }.into());
        }
        let head = decode::verify(prior, row.chain, &row.bytes)?;
        Ok(Verified { prior, head, bytes: row.bytes })
    }

    fn decode(self) -> Result<Record, ReadError> {
        Ok(decode::verified_record(self.prior, self.head.chain, &self.bytes)?)
    }
}

impl Reader for SqliteReader {
    fn base(&self) -> Result<Head, ReadError> {
        Ok(self.meta()?.base)
    }

    fn read(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        let base = self.base()?;
        if from <= base.seq {
            return Err(ReadError::Truncated { first: base.seq.next() });
        }
        let prior = connection::head_before_holder(&self.connection, from)
            .map_err(|error| read_error(from, error))?;
        let rows = self.rows_after(prior.unwrap_or(base));
        let wanted = rows.skip_while(move |row| row.as_ref().is_ok_and(|row| row.head.seq < from));
        Ok(Box::new(wanted.map(move |row| Ok(trim(row?.decode()?, from)))))
    }

    fn bytes_at(&self, at: Seq) -> Result<Option<Bytes>, ReadError> {
        let stored = self
            .connection
            .query_row("SELECT bytes FROM records WHERE first = ?1", [signed(at)], |row| {
                row.get::<_, Vec<u8>>(0)
            })
            .optional();
        Ok(stored.map_err(|error| read_error(at, error))?.map(Bytes::from))
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}
