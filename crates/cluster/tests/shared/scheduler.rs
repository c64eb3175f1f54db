//! A scheduler without anything to schedule: it takes in what is told, and appends when it leads.

use std::path::Path;
use std::time::{Duration, Instant};

use bellwether_cluster::shared::{Address, Connect, SharedCluster, SharedOptions};
use bellwether_cluster::{Cluster, ClusterError, Leader, News};
use bellwether_core::Entry;
use bellwether_core::model::{Micros, Seq};
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::{AppendError, Head, Journal, Snapshot};
use rustix::time::{ClockId, clock_gettime};

pub(crate) const DEADLINE: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_millis(10);

pub(crate) struct Scheduler {
    pub(crate) cluster: SharedCluster,
    /// All that it has applied, from the snapshot on that it may have begun with.
    pub(crate) applied: Vec<Entry>,
    pub(crate) head: Head,
    pub(crate) begun_with: Option<Snapshot>,
    pub(crate) leader: Option<Leader>,
    pub(crate) journal: Option<Box<dyn Journal>>,
}

impl Scheduler {
    pub(crate) fn start(dir: &Path, name: &str, connect: Connect) -> Scheduler {
        let address = Address { grpc: format!("{name}:7301"), http: format!("{name}:7300") };
        let options = SharedOptions::default();
        let mut cluster = SharedCluster::open(dir, address, connect, options).unwrap();
        let (applied, head) = recovered(&cluster);
        cluster.follow(head);
        Scheduler { cluster, applied, head, begun_with: None, leader: None, journal: None }
    }

    /// It stands only while it holds this lock.
    #[cfg(feature = "zookeeper")]
    pub(crate) fn elect_by(&mut self, lock: impl bellwether_cluster::shared::Lock + 'static) {
        self.cluster.elect_by(Box::new(lock));
    }

    /// Takes in the next thing, if there is one soon.
    pub(crate) fn step(&mut self) -> Result<(), ClusterError> {
        match self.cluster.poll(PATIENCE)? {
            None => {}
            Some(News::Committed(record)) => {
                assert_eq!(record.prior, self.head.chain, "told in order, without a gap");
                self.head = record.head();
                self.applied.extend(record.entries);
            }
            Some(News::Behind(snapshot)) => {
                self.applied.clear();
                self.head = snapshot.head;
                self.begun_with = Some(snapshot);
            }
            Some(News::Leader(leader)) => self.leader = leader,
            Some(News::Reign(journal)) => {
                assert_eq!(journal.head(), self.head, "all that was committed has been told");
                self.journal = Some(journal);
            }
        }
        Ok(())
    }

    pub(crate) fn step_until(&mut self, what: &str, mut is_so: impl FnMut(&Scheduler) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            match self.step() {
                Ok(()) | Err(ClusterError::Unreachable(_)) => {}
                Err(error) => panic!("{what}: {error}"),
            }
            assert!(began.elapsed() < DEADLINE, "{what}: not in {DEADLINE:?}");
        }
    }

    pub(crate) fn lead(&mut self) {
        self.step_until("lead", |scheduler| scheduler.journal.is_some());
    }

    /// Appends as many entries as one record.
    pub(crate) fn append(&mut self, count: usize) -> Result<(), AppendError> {
        let entries = Samples::new(self.head.seq.0, self.head.seq).entries(count);
        let journal = self.journal.as_mut().expect("it leads");
        self.head = journal.append(journal.epoch(), self.head.seq, &entries)?;
        self.applied.extend(entries);
        Ok(())
    }

    /// The reign is over; it goes on from what it has applied.
    pub(crate) fn step_down(&mut self) {
        self.journal = None;
        self.cluster.follow(self.head);
    }

    /// Whether it may tell what it knows.
    pub(crate) fn may_answer(&self) -> bool {
        self.journal.as_ref().is_some_and(|journal| journal.lease().holds_at(now()))
    }
}

/// What the copy on its disk holds.
fn recovered(cluster: &SharedCluster) -> (Vec<Entry>, Head) {
    let reader = cluster.reader().unwrap();
    let mut head = reader.base().unwrap();
    let mut applied = Vec::new();
    for record in reader.read(head.seq.next()).unwrap() {
        let record = record.unwrap();
        head = record.head();
        applied.extend(record.entries);
    }
    (applied, head)
}

/// What the reader of a cluster gives.
pub(crate) fn copy_of(cluster: &dyn Cluster) -> Vec<Entry> {
    let reader = cluster.reader().unwrap();
    let first = reader.base().unwrap().seq.next();
    bellwether_journal::conformance::read_all(reader.as_ref(), Seq(first.0))
}

pub(crate) fn now() -> Micros {
    let boot = clock_gettime(ClockId::Boottime);
    let part = |part: i64| u64::try_from(part).unwrap();
    Micros::from_secs(part(boot.tv_sec)) + Micros(part(boot.tv_nsec) / 1_000)
}
