//! Schedulers that agree by a log that all of them reach.
//!
//! The log says who leads: whoever finds the lease run out takes a new one, in a higher epoch, which
//! ends the reign before. Each scheduler keeps a copy of the log on its own disk, from which it
//! answers those who only look.

mod follow;
mod lease_lock;
mod lock;
mod options;
mod recover;
mod reign;
mod renewal;
mod upload;
#[cfg(feature = "zookeeper")]
mod zookeeper;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::file::{FileOptions, Mirror};
use bellwether_journal::shared::{Candidate, SharedError, SharedLog};
use bellwether_journal::{Head, Lease, OpenError, ReadError, Reader, Snapshots};

use crate::door::{
    Cluster, ClusterError, ClusterStatus, Leader, MemberId, MemberStatus, News, Role,
};
use follow::Trouble;

pub use lease_lock::LeaseLock;
pub use lock::Lock;
pub use options::SharedOptions;
pub use recover::{RecoverError, Recovered, recover};
#[cfg(feature = "zookeeper")]
pub use zookeeper::{ZooKeeperLock, ZooKeeperOptions};

/// Makes another connection to the log. Follower, leader and lease each have their own.
pub type Connect = Arc<dyn Fn() -> Result<Box<dyn SharedLog>, SharedError> + Send + Sync>;

/// After a failure the log is left alone for so long.
const RETRY_AFTER: Duration = Duration::from_millis(50);
/// Keeps the number of this member beside its copy of the log.
const MEMBER_FILE: &str = "member";

pub struct SharedCluster {
    me: Candidate,
    options: SharedOptions,
    connect: Connect,
    log: Box<dyn SharedLog>,
    // The journal of a reign writes it while there is one, the follower else: never both.
    mirror: Arc<Mutex<Mirror>>,
    /// Up to where the scheduler was told.
    position: Head,
    news: VecDeque<News>,
    leader: Option<Leader>,
    /// How long its lease ran on when it was last looked at.
    lease_left: Option<Duration>,
    epoch: Epoch,
    reigning: Option<Reigning>,
    next_look: Instant,
    /// After a resignation others come first.
    stands_from: Instant,
    /// Chooses among those who would stand; else the first does.
    lock: Option<Box<dyn Lock>>,
    /// Up to here the copy was truncated.
    forgotten: Seq,
    lost: Option<String>,
}

struct Reigning {
    epoch: Epoch,
    lease: Lease,
}

impl SharedCluster {
    /// Takes part with the copy of the log in this directory. The first time the log gives it a number.
    pub fn open(
        dir: &Path,
        address: Address,
        connect: Connect,
        options: SharedOptions,
    ) -> Result<SharedCluster, StartError> {
        let mirror = Mirror::open(dir, FileOptions::default())?;
        let mut log = connect()?;
        match log.look() {
            // It may come back; one that is unfit is not waited for.
            Ok(_) | Err(SharedError::Unreachable(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let member = enrolled(dir, log.as_mut())?;
        let epoch = last_epoch(&mirror)?;
        let now = Instant::now();
        Ok(SharedCluster {
            me: Candidate { member, grpc: address.grpc, http: address.http },
            options,
            connect,
            log,
            position: mirror.head(),
            mirror: Arc::new(Mutex::new(mirror)),
            news: VecDeque::new(),
            leader: None,
            lease_left: None,
            epoch,
            reigning: None,
            next_look: now,
            stands_from: now,
            lock: None,
            forgotten: Seq(0),
            lost: None,
        })
    }

    /// As which it stands.
    pub fn candidate(&self) -> &Candidate {
        &self.me
    }

    /// From now on it stands only while it holds this lock.
    pub fn elect_by(&mut self, lock: Box<dyn Lock>) {
        self.lock = Some(lock);
    }

    fn may_stand(&self) -> bool {
        Instant::now() >= self.stands_from && self.lock.as_ref().is_none_or(|lock| lock.is_held())
    }

    /// When something may have changed.
    fn pause(&self) -> Duration {
        let poll = self.options.poll_every;
        // Not a poll too late for the end of a lease.
        self.lease_left.map_or(poll, |left| left.min(poll))
    }

    fn step(&mut self) -> Result<(), ClusterError> {
        if let Some(why) = &self.lost {
            return Err(Trouble::Lost(why.clone()).into());
        }
        if self.reigning.is_some() || Instant::now() < self.next_look {
            return Ok(());
        }
        match self.take_in() {
            Ok(()) => {
                // Where something was new, more may be.
                let pause = if self.news.is_empty() { self.pause() } else { Duration::ZERO };
                self.next_look = Instant::now() + pause;
                Ok(())
            }
            Err(trouble) => {
                self.next_look = Instant::now() + RETRY_AFTER;
                if let Trouble::Lost(why) = &trouble {
                    self.lost = Some(why.clone());
                    // One that never leads must not keep others from it.
                    self.lock = None;
                }
                Err(trouble.into())
            }
        }
    }
}

impl Cluster for SharedCluster {
    fn poll(&mut self, patience: Duration) -> Result<Option<News>, ClusterError> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(news) = self.news.pop_front() {
                return Ok(Some(news));
            }
            self.step()?;
            if !self.news.is_empty() {
                continue;
            }
            let now = Instant::now();
            if now >= deadline {
                return Ok(None);
            }
            let wake =
                if self.reigning.is_some() { deadline } else { self.next_look.min(deadline) };
            std::thread::sleep(wake.saturating_duration_since(now));
        }
    }

    fn follow(&mut self, from: Head) {
        if let Some(reigning) = self.reigning.take() {
            reigning.lease.end();
        }
        // Who leads is told again.
        self.leader = None;
        self.news.clear();
        self.position = from;
        self.next_look = Instant::now();
    }

    fn resign(&mut self, _to: Option<MemberId>) -> Result<(), ClusterError> {
        let Some(reigning) = &self.reigning else { return Ok(()) };
        reigning.lease.end();
        self.stands_from = Instant::now() + 2 * self.options.lease;
        if let Some(lock) = &self.lock {
            lock.release();
        }
        let epoch = reigning.epoch;
        self.log.resign(epoch).map_err(|error| Trouble::from(error).into())
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        Ok(locked(&self.mirror).reader())
    }

    fn snapshots(&self) -> Box<dyn Snapshots> {
        locked(&self.mirror).snapshots()
    }

    fn status(&self) -> ClusterStatus {
        let committed = locked(&self.mirror).head().seq;
        let me = MemberStatus {
            id: MemberId(self.me.member),
            address: self.me.grpc.clone(),
            votes: true,
            position: Some(committed),
        };
        let leader = self.leader.iter().filter(|leader| leader.id != me.id);
        let others = leader.map(|leader| MemberStatus {
            id: leader.id,
            address: leader.grpc.clone(),
            votes: true,
            position: None,
        });
        ClusterStatus {
            id: me.id,
            role: if self.reigning.is_some() { Role::Reigning } else { Role::Following },
            leader: self.leader.clone(),
            epoch: self.epoch,
            committed,
            members: others.chain([me.clone()]).collect(),
        }
    }
}

/// Where this scheduler is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub grpc: String,
    pub http: String,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Mirror(#[from] OpenError),
    #[error(transparent)]
    Log(#[from] SharedError),
    #[error("the file `member` in the data directory can't be used: {0}")]
    Member(String),
}

impl fmt::Debug for SharedCluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedCluster")
            .field("me", &self.me)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// The number of this member: from its directory, or a new one from the log.
fn enrolled(dir: &Path, log: &mut dyn SharedLog) -> Result<u16, StartError> {
    let path = dir.join(MEMBER_FILE);
    match std::fs::read_to_string(&path) {
        Ok(text) => {
            text.trim().parse().map_err(|_| StartError::Member(format!("it holds {text:?}")))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let member = log.enroll()?;
            std::fs::write(&path, format!("{member}\n"))
                .map_err(|error| StartError::Member(error.to_string()))?;
            Ok(member)
        }
        Err(error) => Err(StartError::Member(error.to_string())),
    }
}

/// Of the last record here. The log may have lost it, and a new reign must be later all the same.
fn last_epoch(mirror: &Mirror) -> Result<Epoch, StartError> {
    let (reader, head) = (mirror.reader(), mirror.head());
    let unreadable = |error: ReadError| StartError::Mirror(error.into());
    if head.seq <= reader.base().map_err(unreadable)?.seq {
        return Ok(Epoch(0));
    }
    let last = reader.read(head.seq).map_err(unreadable)?.next().transpose();
    Ok(last.map_err(unreadable)?.map_or(Epoch(0), |record| record.epoch))
}

fn locked(mirror: &Mutex<Mirror>) -> MutexGuard<'_, Mirror> {
    mirror.lock().unwrap_or_else(PoisonError::into_inner)
}
