//! A host with its journal, driven by hand.

use std::convert::Infallible;

use bellwether_core::model::{
    Config, HeldAttempt, JobId, JobNo, JobSpec, Micros, Name, Seq, Submission, Timestamp,
    WorkerStatus,
};
use bellwether_core::{Command, Engine};
use bellwether_host::{
    Edge, Host, Reading, Reply, SnapshotRule, SnapshotWork, Unavailable, Unobserved,
};
use bellwether_journal::{Head, Journal as _, MemoryJournal, MemoryStore, Reader as _};

pub(crate) struct TestEdge;

impl Edge for TestEdge {
    type Asker<T> = &'static str;
    type SnapshotAsker = &'static str;
    type Seen = &'static str;
    type Message = &'static str;
    type Link = ();
    type Watcher = ();
    type Malformed = Infallible;
}

/// A host and its journal; answers are gathered as text.
pub(crate) struct World {
    pub(crate) host: Host<TestEdge>,
    pub(crate) store: MemoryStore,
    pub(crate) journal: MemoryJournal,
    /// Microseconds.
    pub(crate) now: u64,
}

/// Both clocks show the same.
pub(crate) fn reading(micros: u64) -> Reading {
    Reading { monotonic: Micros(micros), wall: Timestamp(micros) }
}

impl World {
    pub(crate) fn new(settings: Config) -> World {
        let store = MemoryStore::new();
        let journal = MemoryJournal::open(&store).expect("a new store opens");
        let engine = Engine::new(Config::default());
        let mut host = Host::new(engine, Head::default(), Seq(0), SnapshotRule::every(1_000_000));
        host.reign(reading(1), journal.epoch(), Some(settings), &mut Unobserved);
        let mut world = World { host, store, journal, now: 1 };
        world.append_all();
        world
    }

    pub(crate) fn submit(&mut self, id: &'static str) {
        let job = JobSpec::new(JobId::fixed(id), Name::fixed("render"));
        let commands = vec![Command::Submit(Submission::one(job))];
        self.host.handle_commands(commands, None, id, &mut Unobserved);
    }

    /// Time passes, and a round begins.
    pub(crate) fn pass(&mut self, span: Micros) {
        self.now += span.0;
        self.host.handle_time(reading(self.now), &mut Unobserved);
    }

    pub(crate) fn append(&mut self, batch: &[bellwether_core::Entry]) {
        let journal = &mut self.journal;
        match journal.append(journal.epoch(), journal.head().seq, batch) {
            Ok(head) => self.host.handle_durable(head, batch, &mut Unobserved),
            Err(error) => self.host.handle_failure((&error).into()),
        }
    }

    pub(crate) fn append_all(&mut self) {
        while let Some(batch) = self.host.poll_batch() {
            self.append(&batch);
        }
    }

    /// Writes a snapshot to its end, while jobs come.
    pub(crate) fn take_snapshot(&mut self) -> (Head, Vec<u8>) {
        let Some(SnapshotWork::Begin(head)) = self.host.poll_snapshot() else {
            panic!("none is begun")
        };
        let mut bytes = Vec::new();
        for round in 0.. {
            self.pass(Micros(10_000));
            match self.host.poll_snapshot() {
                None => {}
                Some(SnapshotWork::Piece(piece)) => {
                    bytes.extend(piece);
                    self.host.handle_piece_written();
                }
                Some(SnapshotWork::End(last)) => {
                    let Ok(()) = last.write(|piece| {
                        bytes.extend_from_slice(piece);
                        Ok::<(), Infallible>(())
                    });
                    break;
                }
                Some(other) => panic!("{other:?}"),
            }
            let job = JobSpec::new(JobId::fixed(&format!("later-{round}")), Name::fixed("render"));
            let commands = vec![Command::Submit(Submission::one(job))];
            self.host.handle_commands(commands, None, "later", &mut Unobserved);
            self.append_all();
        }
        (head, bytes)
    }

    pub(crate) fn rebuild(&mut self) {
        let mut engine = Engine::new(Config::default());
        for record in self.journal.read(Seq(1)).expect("it can be read") {
            record.expect("it is whole").entries.iter().for_each(|entry| engine.replay(entry));
        }
        self.host.handle_rebuilt(engine, self.journal.head(), &mut Unobserved);
    }

    /// The one that job 1 has.
    pub(crate) fn attempt(&self) -> HeldAttempt {
        let job = self.host.state().job(JobNo(1)).expect("it was submitted");
        HeldAttempt { job: JobNo(1), token: job.offers()[0].token }
    }

    pub(crate) fn statuses(&self) -> Vec<WorkerStatus> {
        self.host.state().workers().map(|(_, worker)| worker.status).collect()
    }

    pub(crate) fn answers(&mut self) -> Vec<String> {
        let replies = std::iter::from_fn(|| self.host.poll_reply());
        let text = |reply: Reply<TestEdge>| match reply {
            Reply::Settled(id, Ok(settled)) if settled[0].result.is_ok() => format!("{id} done"),
            Reply::Settled(id, Ok(_)) => format!("{id} rejected"),
            Reply::Settled(id, Err(why)) => format!("{id} {}", why.code()),
            Reply::Seen(id, seen) => format!("{id} {:?}", seen.map_err(Unavailable::code)),
            Reply::Snapshot(id, Ok(head)) => format!("{id} {}", head.seq),
            Reply::Snapshot(id, Err(why)) => format!("{id} {}", why.code()),
            reply => format!("{reply:?}"),
        };
        replies.map(text).collect()
    }
}
