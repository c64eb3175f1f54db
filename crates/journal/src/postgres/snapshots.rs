//! Snapshots for those who join, in parts that hold nobody up.

use bellwether_core::model::{Epoch, Seq};

use super::server::Values;
use super::{PostgresLog, column, head, one, signed, strange};
use crate::chain::Head;
use crate::shared::SharedError;
use crate::snapshot::Snapshot;

const PART_BYTES: usize = 1 << 20;
/// One that is replaced while it is fetched is fetched again.
const FETCHES_MAX: usize = 5;

impl PostgresLog {
    pub(super) fn store(
        &mut self,
        epoch: Epoch,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError> {
        let number = self.upload(epoch, snapshot)?;
        self.server.batch("BEGIN")?;
        let done = self.replace(epoch, number, snapshot, before);
        self.server.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
        done
    }

    pub(super) fn begin(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<(), SharedError> {
        let number = self.upload(epoch, snapshot)?;
        let sql = self.statements.begin_at.clone();
        if self.conclude(&sql, epoch, number, snapshot, &[])? == 0 {
            return Err(SharedError::Unfit("the log has records already".to_owned()));
        }
        Ok(())
    }

    /// Brings the parts there, under a number that nobody knows yet.
    fn upload(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<i64, SharedError> {
        let reign = signed(epoch.0);
        let begun = self.server.query(&self.statements.begin_snapshot, &[&reign])?;
        let Some(row) = begun.first() else { return Err(self.fenced()?) };
        let number: i64 = column(row, 0)?;
        for (part, bytes) in (0_i32..).zip(snapshot.bytes.chunks(PART_BYTES)) {
            let values: Values<'_> = &[&reign, &number, &part, &bytes];
            if self.server.execute(&self.statements.write_part, values)? == 0 {
                return Err(self.fenced()?);
            }
        }
        Ok(number)
    }

    /// In a transaction. Only this reign forgets records, one snapshot after the other, so the base that
    /// is found first is still the base when the reign is checked.
    fn replace(
        &mut self,
        epoch: Epoch,
        number: i64,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError> {
        let before = signed(before.0.min(snapshot.head.seq.next().0));
        let forgotten = self.server.query(&self.statements.base, &[&before])?;
        let base = match forgotten.first() {
            Some(row) => head(row, 0)?,
            None => self.base()?,
        };
        let sql = self.statements.finish_snapshot.clone();
        let base: Values<'_> = &[&signed(base.seq.0), &&base.chain.0[..]];
        if self.conclude(&sql, epoch, number, snapshot, base)? == 0 {
            return Err(self.fenced()?);
        }
        self.server.execute(&self.statements.forget_records, &[&before])?;
        self.server.execute(&self.statements.forget_parts, &[&number])?;
        Ok(())
    }

    /// Makes it the latest.
    fn conclude(
        &mut self,
        sql: &str,
        epoch: Epoch,
        number: i64,
        snapshot: &Snapshot,
        more: Values<'_>,
    ) -> Result<u64, SharedError> {
        let parts = i32::try_from(snapshot.bytes.chunks(PART_BYTES).len())
            .map_err(|_| SharedError::Unfit("a snapshot has too many parts".to_owned()))?;
        let hash = blake3::hash(&snapshot.bytes);
        let (reign, seq) = (signed(epoch.0), signed(snapshot.head.seq.0));
        let (chain, hash) = (&snapshot.head.chain.0[..], &hash.as_bytes()[..]);
        let values: Values<'_> = &[&reign, &number, &seq, &chain, &parts, &hash];
        Ok(self.server.execute(sql, &[values, more].concat())?)
    }

    fn base(&mut self) -> Result<Head, SharedError> {
        let rows = self.server.query(&self.statements.look, &[])?;
        head(one(&rows)?, 6)
    }

    fn fenced(&mut self) -> Result<SharedError, SharedError> {
        let rows = self.server.query(&self.statements.look, &[])?;
        let current = super::unsigned(one(&rows)?, 0)?;
        Ok(SharedError::Fenced { current: Epoch(current) })
    }

    pub(super) fn fetch(&mut self) -> Result<Option<Snapshot>, SharedError> {
        for _ in 0..FETCHES_MAX {
            let rows = self.server.query(&self.statements.snapshot, &[])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let (number, at): (i64, Head) = (column(row, 0)?, head(row, 1)?);
            let (parts, hash): (i32, &[u8]) = (column(row, 3)?, column(row, 4)?);
            let Some(bytes) = self.parts(number, parts)? else { continue };
            if blake3::hash(&bytes).as_bytes()[..] != *hash {
                return Err(SharedError::Lost(format!(
                    "the snapshot at position {} does not match its hash",
                    at.seq
                )));
            }
            return Ok(Some(Snapshot { head: at, bytes: bytes.into() }));
        }
        Err(SharedError::Unreachable("snapshots are replaced faster than they are read".to_owned()))
    }

    /// None if one of them is gone.
    fn parts(&mut self, number: i64, count: i32) -> Result<Option<Vec<u8>>, SharedError> {
        let mut bytes = Vec::new();
        for part in 0..count {
            let rows = self.server.query(&self.statements.part, &[&number, &part])?;
            let Some(row) = rows.first() else { return Ok(None) };
            let part: &[u8] = row.try_get(0).map_err(|_| strange("a part"))?;
            bytes.extend_from_slice(part);
        }
        Ok(Some(bytes))
    }
}
