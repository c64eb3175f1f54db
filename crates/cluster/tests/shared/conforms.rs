//! Every backend is a shared log, and the journals of its reigns are journals.

use std::path::PathBuf;

use bellwether_cluster::shared::Connect;
use bellwether_journal::Journal;
use bellwether_journal::conformance::shared::SharedBed;
use bellwether_journal::conformance::{self, Bed};
use bellwether_journal::shared::SharedLog;
use tempfile::TempDir;

use crate::backend::{Backend, Postgres, Redis};
use crate::scheduler::Scheduler;

struct LogBed(Connect);

impl SharedBed for LogBed {
    fn connect(&self) -> Box<dyn SharedLog> {
        (self.0)().unwrap()
    }
}

/// Opens the journal of one reign after the other. A process whose directory is in use has another, and
/// takes itself for the same member: that is what the log must keep apart.
struct ReignBed {
    connect: Connect,
    folder: TempDir,
    directories: usize,
}

impl ReignBed {
    fn new(connect: Connect) -> ReignBed {
        ReignBed { connect, folder: tempfile::tempdir().unwrap(), directories: 0 }
    }

    fn directory(&mut self) -> PathBuf {
        let directory = self.folder.path().join(self.directories.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        let held = std::fs::File::create(directory.join("lock")).unwrap();
        if held.try_lock().is_ok() {
            return directory;
        }
        self.directories += 1;
        let directory = self.folder.path().join(self.directories.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("member"), "1").unwrap();
        directory
    }
}

impl Bed for ReignBed {
    fn open(&mut self) -> Box<dyn Journal> {
        let directory = self.directory();
        let mut scheduler = Scheduler::start(&directory, "a", self.connect.clone());
        scheduler.lead();
        scheduler.journal.take().unwrap()
    }

    fn opens_twice(&self) -> bool {
        true
    }
}

#[test]
fn redis_is_a_shared_log() {
    let redis = Redis::start();
    conformance::shared::run(|| LogBed(redis.log()));
}

#[test]
fn reigns_over_redis_are_journals() {
    let redis = Redis::start();
    conformance::run(|| ReignBed::new(redis.log()));
}

#[test]
fn postgres_is_a_shared_log() {
    let postgres = Postgres::start();
    conformance::shared::run(|| LogBed(postgres.log()));
}

#[test]
fn reigns_over_postgres_are_journals() {
    let postgres = Postgres::start();
    conformance::run(|| ReignBed::new(postgres.log()));
}
