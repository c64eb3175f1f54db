//! What a server loses, or a disk.

use std::fs;

use bellwether_cluster::shared::{Address, SharedCluster, SharedOptions, StartError, recover};
use bellwether_cluster::{Cluster as _, ClusterError};
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::Snapshot;
use bellwether_journal::redis::RedisOptions;
use bellwether_journal::shared::SharedError;
use bellwether_testbed::RedisServer;
use bytes::Bytes;
use tempfile::tempdir;

use crate::backend::{Backend, Postgres, Redis, connect_to_redis};
use crate::scheduler::{Scheduler, copy_of};

#[test]
fn killed_server_loses_nothing_that_was_acknowledged_over_redis() {
    killed_server_loses_nothing_that_was_acknowledged(&mut Redis::start());
}

#[test]
fn killed_server_loses_nothing_that_was_acknowledged_over_postgres() {
    killed_server_loses_nothing_that_was_acknowledged(&mut Postgres::start());
}

fn killed_server_loses_nothing_that_was_acknowledged(backend: &mut impl Backend) {
    let (log, dirs) = (backend.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    let mut leader = Scheduler::start(dirs[0].path(), "first", log.clone());
    for round in 0..5 {
        leader.lead();
        for _ in 0..=round {
            leader.append(3).unwrap();
        }
        backend.kill();
        assert!(leader.append(1).is_err(), "nothing is acknowledged that nobody keeps");
        leader.step_down();
        backend.restart();
    }
    leader.lead();
    let mut other = Scheduler::start(dirs[1].path(), "second", log);
    other.step_until("catch up", |other| other.head == leader.head);
    assert_eq!(other.applied, leader.applied);
}

#[test]
fn lost_tail_is_noticed_and_nobody_who_applied_it_leads() {
    let lossy = ["--appendonly", "no"];
    let mut server = RedisServer::with(&lossy).unwrap();
    let log = connect_to_redis(options(&server, true));
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    first.append(5).unwrap();
    let mut second = Scheduler::start(dirs[1].path(), "second", log);
    second.step_until("catch up", |second| second.head == first.head);
    server.kill().unwrap();
    server.restart().unwrap();
    first.append(1).unwrap_err();
    first.step_down();
    for scheduler in [&mut first, &mut second] {
        let error = loop {
            match scheduler.step() {
                Ok(()) | Err(ClusterError::Unreachable(_)) => assert!(scheduler.journal.is_none()),
                Err(error) => break error,
            }
        };
        assert!(error.to_string().contains("position 5 was applied here"), "{error}");
        assert!(scheduler.step().is_err(), "it stays so");
    }
}

#[test]
fn lost_tail_is_appended_again_from_a_copy() {
    let mut server = RedisServer::with(&["--appendonly", "no"]).unwrap();
    let log = connect_to_redis(options(&server, true));
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    for _ in 0..8 {
        first.append(5).unwrap();
    }
    let journal = first.journal.as_mut().unwrap();
    let snapshot = Snapshot { head: journal.head(), bytes: Bytes::from_static(b"state") };
    journal.save_snapshot(&snapshot).unwrap();
    first.append(5).unwrap();
    let (acknowledged, head) = (first.applied.clone(), first.head);
    drop(first);
    for _ in 0..2 {
        server.kill().unwrap();
        server.restart().unwrap();
        let recovered = recover(dirs[0].path(), &log).unwrap();
        assert_eq!((recovered.from, recovered.to), (Seq(0), head.seq));
        let again = recover(dirs[0].path(), &log).unwrap();
        assert_eq!((again.from, again.to), (head.seq, head.seq), "nothing is lost any more");
    }
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    assert_eq!(first.applied, acknowledged);
    first.append(1).unwrap();
    assert!(first.journal.as_ref().unwrap().epoch() > Epoch(2), "no epoch comes again");
    let mut second = Scheduler::start(dirs[1].path(), "second", log);
    second.step_until("catch up", |second| second.head == first.head);
}

#[test]
fn lost_log_of_which_a_part_was_forgotten_begins_again_with_a_snapshot() {
    let mut server = RedisServer::with(&["--appendonly", "no"]).unwrap();
    let log = connect_to_redis(options(&server, true));
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    first.append(5).unwrap();
    let snapshot = Snapshot { head: first.head, bytes: Bytes::from_static(b"state") };
    log().unwrap().save_snapshot(Epoch(1), &snapshot, Seq(6)).unwrap();
    first.append(5).unwrap();
    // It knows the beginning by the snapshot only.
    let mut second = Scheduler::start(dirs[1].path(), "second", log.clone());
    second.step_until("catch up", |second| second.head == first.head);
    assert_eq!(second.begun_with, Some(snapshot));
    let head = second.head;
    drop((first, second));
    server.kill().unwrap();
    server.restart().unwrap();
    assert_eq!(recover(dirs[1].path(), &log).unwrap().to, head.seq);
    let mut first = Scheduler::start(dirs[0].path(), "first", log);
    first.lead();
    assert_eq!(first.head, head);
}

#[test]
fn other_history_in_the_same_place_is_noticed() {
    let mut server = RedisServer::with(&["--appendonly", "no"]).unwrap();
    let log = connect_to_redis(options(&server, true));
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    first.append(5).unwrap();
    server.kill().unwrap();
    server.restart().unwrap();
    // It knows nothing of what there was before.
    let mut second = Scheduler::start(dirs[1].path(), "second", log);
    second.lead();
    second.append(2).unwrap();
    second.append(9).unwrap();
    first.append(1).unwrap_err();
    first.step_down();
    let error = loop {
        match first.step() {
            Ok(()) | Err(ClusterError::Unreachable(_)) => assert!(first.journal.is_none()),
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("lost records"), "{error}");
}

#[test]
fn server_that_may_lose_records_is_refused_by_name() {
    for (settings, named) in [
        (&["--appendonly", "no"] as &[&str], "appendonly no"),
        (&["--appendonly", "yes", "--appendfsync", "everysec"], "appendfsync everysec"),
        (
            &[
                "--appendonly",
                "yes",
                "--appendfsync",
                "always",
                "--maxmemory-policy",
                "allkeys-lru",
            ],
            "maxmemory-policy allkeys-lru",
        ),
    ] {
        let (server, dir) = (RedisServer::with(settings).unwrap(), tempdir().unwrap());
        let connect = connect_to_redis(options(&server, false));
        let address = Address { grpc: String::new(), http: String::new() };
        let error = SharedCluster::open(dir.path(), address, connect, SharedOptions::default())
            .unwrap_err();
        assert!(matches!(error, StartError::Log(SharedError::Unfit(_))), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
}

#[test]
fn torn_copy_is_cut_and_fetched_again() {
    let (redis, dirs) = (Redis::start(), [tempdir().unwrap(), tempdir().unwrap()]);
    let log = redis.log();
    let mut leader = Scheduler::start(dirs[0].path(), "first", log.clone());
    leader.lead();
    for _ in 0..20 {
        leader.append(5).unwrap();
    }
    let mut follower = Scheduler::start(dirs[1].path(), "second", log.clone());
    follower.step_until("catch up", |follower| follower.head == leader.head);
    drop(follower);
    // As after a power cut: a page in the middle never reached the disk, what follows it did.
    let path = dirs[1].path().join("journal-00000000000000000000.log");
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.iter().rposition(|byte| *byte != 0).unwrap() / 2;
    bytes[middle..middle + 500].fill(0);
    fs::write(&path, bytes).unwrap();

    let mut follower = Scheduler::start(dirs[1].path(), "second", log);
    assert!(follower.head.seq < leader.head.seq && follower.head.seq > Seq(0));
    follower.step_until("catch up", |follower| follower.head == leader.head);
    assert_eq!(follower.applied, leader.applied);
    assert_eq!(copy_of(&follower.cluster), leader.applied);
    assert_eq!(follower.cluster.status().committed, leader.head.seq);
}

fn options(server: &RedisServer, allow_loss: bool) -> RedisOptions {
    RedisOptions { url: server.url(), authorities: None, prefix: "log".to_owned(), allow_loss }
}
