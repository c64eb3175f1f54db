//! Several members in one process, on ports of this machine, each driven like a scheduler would.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bellwether_cluster::member::Timing;
use bellwether_cluster::raft::{PeerSecurity, Place, RaftCluster, RaftOptions};
use bellwether_cluster::{Cluster as _, Leader, MemberId, News};
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::{AppendError, Head, Journal, Snapshot};
use bellwether_testbed::Ports;
use tempfile::TempDir;

/// Whatever is waited for takes a fraction of a second; a machine that is busy may take longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// One scheduler without an engine: it keeps where each record ended.
pub(crate) struct Scheduler {
    pub(crate) id: MemberId,
    pub(crate) cluster: RaftCluster,
    pub(crate) journal: Option<Box<dyn Journal>>,
    pub(crate) head: Head,
    /// After each record that was told, or appended.
    pub(crate) heads: Vec<Head>,
    pub(crate) snapshots: Vec<Head>,
    pub(crate) leader: Option<Leader>,
}

pub(crate) struct Pool {
    folder: TempDir,
    ports: BTreeMap<u16, Ports>,
    pub(crate) schedulers: Vec<Scheduler>,
}

impl Pool {
    /// Of so many members, of which one reigns.
    pub(crate) fn of(size: u16) -> Pool {
        let mut pool = Pool::empty();
        for id in 1..=size {
            pool.start(id);
        }
        let places = (1..=size).map(|id| (MemberId(id), pool.place(id))).collect();
        pool.schedulers[0].cluster.handle().initialize(places).unwrap();
        pool.until_one_reigns();
        pool
    }

    pub(crate) fn empty() -> Pool {
        let folder = tempfile::tempdir().unwrap();
        Pool { folder, ports: BTreeMap::new(), schedulers: Vec::new() }
    }

    pub(crate) fn dir(&self, id: u16) -> PathBuf {
        self.folder.path().join(id.to_string())
    }

    pub(crate) fn place(&mut self, id: u16) -> Place {
        let ports = self.ports.entry(id).or_insert_with(|| Ports::reserve().unwrap());
        Place {
            address: format!("127.0.0.1:{}", ports.first),
            grpc: format!("grpc-{id}"),
            http: format!("http-{id}"),
            identity: format!("identity-{id}"),
            level: 1,
        }
    }

    /// Another address of this member's.
    pub(crate) fn behind(&mut self, id: u16) -> String {
        let ports = self.ports.entry(id).or_insert_with(|| Ports::reserve().unwrap());
        format!("127.0.0.1:{}", ports.first + 1)
    }

    pub(crate) fn security() -> PeerSecurity {
        PeerSecurity { token: Some("secret of the pool".to_owned()), tls: None }
    }

    pub(crate) fn start(&mut self, id: u16) {
        self.start_with(id, Pool::security());
    }

    pub(crate) fn start_with(&mut self, id: u16, security: PeerSecurity) {
        let address = self.place(id).address;
        self.start_at(id, &address, security);
    }

    /// It listens here, and others think that it is at its place.
    pub(crate) fn start_at(&mut self, id: u16, address: &str, security: PeerSecurity) {
        let place = self.place(id);
        let options = RaftOptions {
            dir: self.dir(id),
            id: MemberId(id),
            listener: TcpListener::bind(address).unwrap(),
            place,
            pool: "test".to_owned(),
            security,
            timing: Timing::default(),
            seed: u64::from(id),
        };
        let mut cluster = RaftCluster::start(options).unwrap();
        let saved: Option<Snapshot> = cluster.snapshots().load().unwrap();
        let head = saved.map_or(Head::GENESIS, |saved| saved.head);
        cluster.follow(head);
        self.schedulers.push(Scheduler {
            id: MemberId(id),
            cluster,
            journal: None,
            head,
            heads: Vec::new(),
            snapshots: Vec::new(),
            leader: None,
        });
    }

    pub(crate) fn stop(&mut self, id: MemberId) -> Scheduler {
        let at = self.schedulers.iter().position(|one| one.id == id).unwrap();
        self.schedulers.remove(at)
    }

    pub(crate) fn step(&mut self) {
        self.schedulers.iter_mut().for_each(Scheduler::step);
    }

    #[track_caller]
    pub(crate) fn until(&mut self, what: &str, mut done: impl FnMut(&mut Pool) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !done(self) {
            assert!(Instant::now() < end, "never: {what}: {}", self.describe());
            self.step();
            std::thread::yield_now();
        }
    }

    fn describe(&self) -> String {
        let status = self.schedulers.iter().map(|one| format!("{:?}\n", one.cluster.status()));
        status.collect()
    }

    #[track_caller]
    pub(crate) fn until_one_reigns(&mut self) -> MemberId {
        self.until("one reigns", |pool| pool.reigning().is_some());
        self.reigning().unwrap()
    }

    pub(crate) fn reigning(&self) -> Option<MemberId> {
        let holds = |one: &&Scheduler| one.journal.is_some() && one.cluster.handle().is_leading();
        self.schedulers.iter().find(holds).map(|one| one.id)
    }

    pub(crate) fn get(&mut self, id: MemberId) -> &mut Scheduler {
        self.schedulers.iter_mut().find(|one| one.id == id).unwrap()
    }

    /// All have what the one at `head` has.
    #[track_caller]
    pub(crate) fn until_all_are_at(&mut self, head: Head) {
        self.until(&format!("all are at {}", head.seq), |pool| {
            pool.schedulers.iter().all(|one| one.head == head)
        });
    }
}

impl Scheduler {
    pub(crate) fn step(&mut self) {
        if self.journal.is_some() && !self.cluster.handle().is_leading() {
            self.end_reign();
        }
        while let Some(news) = self.cluster.poll(Duration::from_millis(1)).unwrap() {
            match news {
                News::Committed(record) => {
                    assert_eq!(record.prior, self.head.chain, "records follow each other");
                    self.head = record.head();
                    self.heads.push(self.head);
                }
                News::Behind(snapshot) => {
                    self.head = snapshot.head;
                    self.snapshots.push(snapshot.head);
                }
                News::Leader(leader) => self.leader = leader,
                News::Reign(journal) => {
                    assert!(!journal.lease().is_over(), "a reign begins with a lease");
                    assert_eq!(journal.head(), self.head, "a reign begins where all has been told");
                    self.journal = Some(journal);
                }
            }
        }
    }

    pub(crate) fn end_reign(&mut self) {
        self.journal = None;
        self.cluster.follow(self.head);
    }

    pub(crate) fn append(&mut self, count: usize) -> Result<Head, AppendError> {
        let entries = Samples::new(self.head.seq.0, self.head.seq).entries(count);
        let journal = self.journal.as_mut().expect("it reigns");
        let (epoch, expected) = (journal.epoch(), self.head.seq);
        let head = journal.append(epoch, expected, &entries)?;
        self.head = head;
        self.heads.push(head);
        Ok(head)
    }
}
