//! Records out of the database, verified one by one.

use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bytes::Bytes;
use rusqlite::Connection;

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
        for record in self.records_after(head) {
            head = record?.head();
            testimony.compare(head)?;
        }
        testimony.conclude(head)?;
        Ok(head)
    }

    /// Verified records, the first of which follows `prior`.
    fn records_after(&self, prior: Head) -> impl Iterator<Item = Result<Record, ReadError>> {
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
            let record = verified(prior, fetched.next()?);
            match &record {
                Ok(record) => prior = record.head(),
                Err(_) => ended = true,
            }
            Some(record)
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

fn verified(prior: Head, row: Row) -> Result<Record, ReadError> {
    if row.first != prior.seq.next() {
        let flaw = Flaw::Gap { found: row.first };
        return Err(Damage { at: prior.seq.next(), flaw }.into());
    }
    Ok(decode::record(prior, row.chain, row.bytes)?)
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
        let records = self.records_after(prior.unwrap_or(base));
        Ok(Box::new(
            records
                .map(move |record| Ok(trim(record?, from)))
                .skip_while(|record| record.as_ref().is_ok_and(|record| record.entries.is_empty())),
        ))
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        Box::new(SnapshotFiles::new(&self.dir))
    }
}
