//! The shared log in a PostgreSQL server: a table of records, and one row that says who may add to it.
//!
//! The SQL is plain, so that databases which speak the same protocol may do as well.

mod server;
mod snapshots;
mod statements;

use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;

use crate::chain::{Chain, Head};
use crate::journal::AppendError;
use crate::shared::{Candidate, RawRecord, SharedError, SharedLog, Sight};
use crate::snapshot::Snapshot;
use server::{Failure, Server};
use statements::Statements;

pub use server::PostgresOptions;

/// Read at once at most, however small they are.
const READ_RECORDS_MAX: i64 = 1_000;

#[derive(Debug)]
pub struct PostgresLog {
    server: Server,
    statements: Statements,
}

impl PostgresLog {
    /// Connects with the first call that needs it.
    pub fn new(options: &PostgresOptions) -> Result<PostgresLog, SharedError> {
        let statements = Statements::new(&server::quoted(&options.schema));
        Ok(PostgresLog { server: Server::new(options)?, statements })
    }

    /// Why nothing was appended, of a server that has answered.
    fn refusal(&mut self, epoch: Epoch, prior: Head) -> AppendError {
        match self.look() {
            Ok(sight) if sight.epoch == epoch && sight.head != prior => {
                AppendError::WrongPosition { expected: prior.seq, head: sight.head.seq }
            }
            Ok(sight) => AppendError::Fenced { current: sight.epoch },
            Err(_) => AppendError::Deposed,
        }
    }
}

impl SharedLog for PostgresLog {
    fn enroll(&mut self) -> Result<u16, SharedError> {
        let rows = self.server.query(&self.statements.enroll, &[])?;
        let member: i32 = column(one(&rows)?, 0)?;
        u16::try_from(member)
            .map_err(|_| SharedError::Unfit("all numbers of members are used up".to_owned()))
    }

    fn look(&mut self) -> Result<Sight, SharedError> {
        let rows = self.server.query(&self.statements.look, &[])?;
        let row = one(&rows)?;
        let (mut left, lease): (i64, i64) = (column(row, 8)?, column(row, 9)?);
        if left > lease {
            self.server.execute(&self.statements.limit_lease, &[])?;
            left = lease;
        }
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let leader = Candidate {
            member: u16::try_from(column::<i32>(row, 1)?).map_err(|_| strange("a member"))?,
            grpc: column(row, 2)?,
            http: column(row, 3)?,
        };
        Ok(Sight {
            base: head(row, 6)?,
            head: head(row, 4)?,
            epoch: Epoch(unsigned(row, 0)?),
            leader: (left > Duration::ZERO).then_some((leader, left)),
        })
    }

    fn accede(
        &mut self,
        candidate: &Candidate,
        after: Epoch,
        lease: Duration,
    ) -> Result<Option<(Epoch, Head)>, SharedError> {
        let (member, lease) = (i32::from(candidate.member), micros(lease));
        let rows = self.server.query(
            &self.statements.accede,
            &[&member, &candidate.grpc, &candidate.http, &lease, &signed(after.0)],
        )?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some((Epoch(unsigned(row, 0)?), head(row, 1)?)))
    }

    fn renew(&mut self, epoch: Epoch, lease: Duration) -> Result<bool, SharedError> {
        let values = (signed(epoch.0), micros(lease));
        Ok(self.server.execute(&self.statements.renew, &[&values.0, &values.1])? > 0)
    }

    fn resign(&mut self, epoch: Epoch) -> Result<(), SharedError> {
        self.server.execute(&self.statements.resign, &[&signed(epoch.0)])?;
        Ok(())
    }

    fn append(
        &mut self,
        epoch: Epoch,
        prior: Head,
        record: &RawRecord,
        lease: Duration,
    ) -> Result<(), AppendError> {
        let appended = self.server.execute(
            &self.statements.append,
            &[
                &signed(epoch.0),
                &signed(prior.seq.0),
                &&prior.chain.0[..],
                &signed(record.last.0),
                &&record.chain.0[..],
                &&record.bytes[..],
                &micros(lease),
            ],
        );
        match appended {
            Ok(1) => Ok(()),
            Ok(_) => Err(self.refusal(epoch, prior)),
            Err(Failure::Refused(error)) if error.code() == Some(&SqlState::DISK_FULL) => {
                Err(AppendError::Full)
            }
            Err(Failure::NotSent(_) | Failure::Refused(_) | Failure::Unknown(_)) => {
                Err(AppendError::Deposed)
            }
        }
    }

    fn read(&mut self, after: Seq, bytes_max: usize) -> Result<Vec<RawRecord>, SharedError> {
        let bytes_max = i64::try_from(bytes_max).unwrap_or(i64::MAX);
        let values: server::Values<'_> = &[&signed(after.0), &bytes_max, &READ_RECORDS_MAX];
        let rows = self.server.query(&self.statements.read, values)?;
        let record = |row: &Row| {
            let Head { seq, chain } = head(row, 0)?;
            let bytes = Bytes::from(column::<Vec<u8>>(row, 2)?);
            Ok(RawRecord { last: seq, chain, bytes })
        };
        rows.iter().map(record).collect()
    }

    fn save_snapshot(
        &mut self,
        epoch: Epoch,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError> {
        self.store(epoch, snapshot, before)
    }

    fn begin_at(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<(), SharedError> {
        self.begin(epoch, snapshot)
    }

    fn load_snapshot(&mut self) -> Result<Option<Snapshot>, SharedError> {
        self.fetch()
    }
}

fn micros(lease: Duration) -> i64 {
    i64::try_from(lease.as_micros()).unwrap_or(i64::MAX)
}

/// The server's integers are signed; ours stay far below the limit.
fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("positions and epochs fit 63 bits")
}

fn one(rows: &[Row]) -> Result<&Row, SharedError> {
    rows.first().ok_or_else(|| strange("a table"))
}

fn column<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> Result<T, SharedError> {
    row.try_get(index).map_err(|_| strange("a column"))
}

fn unsigned(row: &Row, index: usize) -> Result<u64, SharedError> {
    u64::try_from(column::<i64>(row, index)?).map_err(|_| strange("a number"))
}

/// A position, and the chain there in the next column.
fn head(row: &Row, index: usize) -> Result<Head, SharedError> {
    let chain: &[u8] = column(row, index + 1)?;
    let chain = Chain(chain.try_into().map_err(|_| strange("a chain"))?);
    Ok(Head { seq: Seq(unsigned(row, index)?), chain })
}

fn strange(what: &str) -> SharedError {
    SharedError::Unfit(format!("postgres: {what} in it is not one of ours; choose another schema"))
}
