//! Snapshots for those who join, in parts that hold nobody up.

use bellwether_core::model::{Epoch, Seq};
use redis::{Script, ScriptInvocation, cmd};

use super::{RedisLog, head, number, sized, strange};
use crate::shared::SharedError;
use crate::snapshot::Snapshot;

/// Redis does nothing else while it takes or gives one.
const PART_BYTES: usize = 1 << 20;
/// One that is replaced while it is fetched is fetched again.
const FETCHES_MAX: usize = 5;

impl RedisLog {
    pub(super) fn store(
        &mut self,
        epoch: Epoch,
        snapshot: &Snapshot,
        before: Seq,
    ) -> Result<(), SharedError> {
        let key = self.upload(epoch, snapshot)?;
        let mut call = self.conclusion(&self.scripts.finish_snapshot, &key, epoch, snapshot);
        call.arg(before.0.min(snapshot.head.seq.next().0));
        done(self.server.run(&call)?)?;
        Ok(())
    }

    pub(super) fn begin(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<(), SharedError> {
        let key = self.upload(epoch, snapshot)?;
        let call = self.conclusion(&self.scripts.begin_at, &key, epoch, snapshot);
        done(self.server.run(&call)?)?;
        Ok(())
    }

    /// Brings the parts there, under a key that nobody knows yet.
    fn upload(&mut self, epoch: Epoch, snapshot: &Snapshot) -> Result<String, SharedError> {
        let mut call = self.on(&self.scripts.begin_snapshot);
        call.arg(epoch.0).arg(format!("{}:snapshot:", self.prefix));
        let key = done(self.server.run(&call)?)?;
        for (number, part) in snapshot.bytes.chunks(PART_BYTES).enumerate() {
            let mut call = self.on(&self.scripts.write_snapshot);
            call.key(&key).arg(epoch.0).arg(number).arg(part);
            done(self.server.run(&call)?)?;
        }
        Ok(key)
    }

    /// What the script is told that makes it the latest.
    fn conclusion<'a>(
        &self,
        script: &'a Script,
        key: &str,
        epoch: Epoch,
        snapshot: &Snapshot,
    ) -> ScriptInvocation<'a> {
        let mut call = self.on(script);
        call.key(&self.records).key(key).arg(epoch.0);
        call.arg(snapshot.head.seq.0).arg(&snapshot.head.chain.0[..]);
        call.arg(snapshot.bytes.chunks(PART_BYTES).len());
        call.arg(&blake3::hash(&snapshot.bytes).as_bytes()[..]);
        call
    }

    pub(super) fn fetch(&mut self) -> Result<Option<Snapshot>, SharedError> {
        for _ in 0..FETCHES_MAX {
            let mut latest = cmd("HMGET");
            latest.arg(&self.reign).arg("snapshot").arg("snapshot_seq").arg("snapshot_chain");
            latest.arg("snapshot_parts").arg("snapshot_hash");
            let answer: Vec<Option<Vec<u8>>> = self.server.query(&latest)?;
            let answer = answer.into_iter().map(Option::unwrap_or_default).collect();
            let [key, seq, chain, parts, hash] = sized(answer)?;
            if key.is_empty() {
                return Ok(None);
            }
            let at = head(&seq, &chain)?;
            let Some(bytes) = self.parts(&key, number(&parts)?)? else { continue };
            if blake3::hash(&bytes).as_bytes()[..] != hash[..] {
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
    fn parts(&mut self, key: &[u8], count: u64) -> Result<Option<Vec<u8>>, SharedError> {
        let mut bytes = Vec::new();
        for number in 0..count {
            let mut one = cmd("HGET");
            one.arg(key).arg(number);
            let part: Option<Vec<u8>> = self.server.query(&one)?;
            let Some(part) = part else { return Ok(None) };
            bytes.extend_from_slice(&part);
        }
        Ok(Some(bytes))
    }
}

/// What a script gives, unless it has refused.
fn done(answer: Vec<String>) -> Result<String, SharedError> {
    let mut words = answer.into_iter();
    let (word, given) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    match word.as_str() {
        "done" => Ok(given),
        "fenced" => Err(SharedError::Fenced { current: Epoch(given.parse().unwrap_or(0)) }),
        "begun" => Err(SharedError::Unfit("the log has records already".to_owned())),
        "torn" => {
            Err(SharedError::Unreachable("a snapshot was replaced while it was saved".to_owned()))
        }
        _ => Err(strange("an answer")),
    }
}
