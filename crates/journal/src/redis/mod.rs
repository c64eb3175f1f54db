//! The shared log in a Redis server: a stream of records, and a hash that says who may add to it.
//!
//! All keys begin with `{prefix}:`. The id of a record in the stream is its last position. The hash
//! `reign` has the epoch, the leader and the end of its lease by the server's clock, head and base
//! of the log, and the key of the latest snapshot, which is a hash of numbered parts.

mod scripts;
mod server;
mod snapshots;

use std::time::Duration;

use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;
use redis::{Script, ScriptInvocation};

use crate::chain::{Chain, Head};
use crate::journal::AppendError;
use crate::shared::{Candidate, RawRecord, SharedError, SharedLog, Sight};
use crate::snapshot::Snapshot;
use scripts::Scripts;
use server::{Failure, Server};

pub use server::RedisOptions;

/// Read at once at most, however small they are.
const READ_RECORDS_MAX: usize = 10_000;

#[derive(Debug)]
pub struct RedisLog {
    server: Server,
    scripts: Scripts,
    reign: String,
    records: String,
    prefix: String,
}

impl RedisLog {
    /// Connects with the first call that needs it.
    pub fn new(options: &RedisOptions) -> Result<RedisLog, SharedError> {
        let prefix = format!("{{{}}}", options.prefix);
        Ok(RedisLog {
            server: Server::new(options)?,
            scripts: Scripts::new(),
            reign: format!("{prefix}:reign"),
            records: format!("{prefix}:records"),
            prefix,
        })
    }

    /// On the reign, the records and others, in this order.
    fn on<'a>(&self, script: &'a Script) -> ScriptInvocation<'a> {
        let mut call = script.prepare_invoke();
        call.key(&self.reign);
        call
    }
}

impl SharedLog for RedisLog {
    fn enroll(&mut self) -> Result<u16, SharedError> {
        let member: u16 = self.server.run(&self.on(&self.scripts.enroll))?;
        if member == 0 {
            return Err(SharedError::Unfit("all numbers of members are used up".to_owned()));
        }
        Ok(member)
    }

    fn look(&mut self) -> Result<Sight, SharedError> {
        let answer: Vec<Vec<u8>> = self.server.run(&self.on(&self.scripts.look))?;
        let [epoch, seq, chain, base_seq, base_chain, member, grpc, http, left] = sized(answer)?;
        let left = Duration::from_micros(number(&left)?);
        let leader = Candidate {
            member: u16::try_from(number(&member)?).map_err(|_| strange("a member's number"))?,
            grpc: text(grpc)?,
            http: text(http)?,
        };
        Ok(Sight {
            base: head(&base_seq, &base_chain)?,
            head: head(&seq, &chain)?,
            epoch: Epoch(number(&epoch)?),
            leader: (left > Duration::ZERO).then_some((leader, left)),
        })
    }

    fn accede(
        &mut self,
        candidate: &Candidate,
        after: Epoch,
        lease: Duration,
    ) -> Result<Option<(Epoch, Head)>, SharedError> {
        let mut call = self.on(&self.scripts.accede);
        call.arg(candidate.member).arg(&candidate.grpc).arg(&candidate.http).arg(micros(lease));
        call.arg(after.0);
        let answer: Vec<Vec<u8>> = self.server.run(&call)?;
        if answer.is_empty() {
            return Ok(None);
        }
        let [epoch, seq, chain] = sized(answer)?;
        Ok(Some((Epoch(number(&epoch)?), head(&seq, &chain)?)))
    }

    fn renew(&mut self, epoch: Epoch, lease: Duration) -> Result<bool, SharedError> {
        let mut call = self.on(&self.scripts.renew);
        call.arg(epoch.0).arg(micros(lease));
        Ok(self.server.run(&call)?)
    }

    fn resign(&mut self, epoch: Epoch) -> Result<(), SharedError> {
        let mut call = self.on(&self.scripts.resign);
        call.arg(epoch.0);
        let _over: bool = self.server.run(&call)?;
        Ok(())
    }

    fn append(
        &mut self,
        epoch: Epoch,
        prior: Head,
        record: &RawRecord,
        lease: Duration,
    ) -> Result<(), AppendError> {
        let mut call = self.on(&self.scripts.append);
        call.key(&self.records).arg(epoch.0);
        call.arg(prior.seq.0).arg(&prior.chain.0[..]);
        call.arg(record.last.0).arg(&record.chain.0[..]).arg(&record.bytes[..]);
        call.arg(micros(lease));
        let answer: Vec<String> = self.server.run(&call).map_err(|failure| match failure {
            Failure::Refused(error) if error.code() == Some("OOM") => AppendError::Full,
            Failure::NotSent(_) | Failure::Refused(_) | Failure::Unknown(_) => AppendError::Deposed,
        })?;
        let at = |index: usize| answer.get(index).map_or("", String::as_str);
        let told = || at(1).parse().unwrap_or(0);
        match at(0) {
            "appended" => Ok(()),
            "fenced" => Err(AppendError::Fenced { current: Epoch(told()) }),
            "elsewhere" => {
                Err(AppendError::WrongPosition { expected: prior.seq, head: Seq(told()) })
            }
            _ => Err(AppendError::Deposed),
        }
    }

    fn read(&mut self, after: Seq, bytes_max: usize) -> Result<Vec<RawRecord>, SharedError> {
        let mut call = self.on(&self.scripts.read);
        call.key(&self.records).arg(after.0).arg(bytes_max).arg(READ_RECORDS_MAX);
        let answer: Vec<Vec<u8>> = self.server.run(&call)?;
        let mut records = Vec::with_capacity(answer.len() / 3);
        let mut parts = answer.into_iter();
        while let (Some(last), Some(chain), Some(bytes)) =
            (parts.next(), parts.next(), parts.next())
        {
            let Head { seq, chain } = head(&last, &chain)?;
            records.push(RawRecord { last: seq, chain, bytes: Bytes::from(bytes) });
        }
        Ok(records)
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

fn micros(lease: Duration) -> u64 {
    u64::try_from(lease.as_micros()).unwrap_or(u64::MAX)
}

fn sized<const N: usize>(answer: Vec<Vec<u8>>) -> Result<[Vec<u8>; N], SharedError> {
    answer.try_into().map_err(|_| strange("an answer"))
}

/// Nothing stands for zero: it was never written.
fn number(digits: &[u8]) -> Result<u64, SharedError> {
    if digits.is_empty() {
        return Ok(0);
    }
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(|| strange("a number"))
}

fn head(seq: &[u8], chain: &[u8]) -> Result<Head, SharedError> {
    if seq.is_empty() && chain.is_empty() {
        return Ok(Head::GENESIS);
    }
    let chain = Chain(chain.try_into().map_err(|_| strange("a chain"))?);
    Ok(Head { seq: Seq(number(seq)?), chain })
}

fn text(bytes: Vec<u8>) -> Result<String, SharedError> {
    String::from_utf8(bytes).map_err(|_| strange("an address"))
}

fn strange(what: &str) -> SharedError {
    SharedError::Unfit(format!("redis: {what} in it is not one of ours; choose another prefix"))
}
