//! A lock elsewhere elects, and the log fences all the same.

use std::time::{Duration, Instant};

use bellwether_cluster::shared::{Lock as _, ZooKeeperLock, ZooKeeperOptions};
use bellwether_testbed::ZooKeeperServer;
use tempfile::tempdir;

use crate::backend::{Backend as _, Redis};
use crate::scheduler::{DEADLINE, Scheduler};

fn lock(server: &ZooKeeperServer) -> ZooKeeperLock {
    let options = ZooKeeperOptions {
        servers: server.address(),
        folder: "/bellwether".to_owned(),
        session: Duration::from_millis(500),
    };
    ZooKeeperLock::start(options).unwrap()
}

fn wait_until_held(lock: &ZooKeeperLock) {
    let began = Instant::now();
    while !lock.is_held() {
        assert!(began.elapsed() < DEADLINE, "the lock is free and not taken");
        std::thread::yield_now();
    }
}

#[test]
fn only_who_holds_the_lock_leads() {
    let (zookeeper, redis) = (ZooKeeperServer::start().unwrap(), Redis::start());
    let (log, dirs) = (redis.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    let held = lock(&zookeeper);
    wait_until_held(&held);
    let mut without = Scheduler::start(dirs[1].path(), "without", log.clone());
    without.elect_by(lock(&zookeeper));
    // The log is free all the time.
    for _ in 0..100 {
        without.step().unwrap();
        assert!(without.journal.is_none());
    }
    let mut with = Scheduler::start(dirs[0].path(), "with", log);
    with.elect_by(held);
    with.lead();
    with.append(3).unwrap();
    without.step_until("follow", |without| without.head == with.head);
    let acknowledged = with.applied.clone();
    drop(with);
    without.lead();
    assert_eq!(without.applied, acknowledged);
}

#[test]
fn holder_of_the_lock_waits_for_the_lease() {
    let (zookeeper, redis) = (ZooKeeperServer::start().unwrap(), Redis::start());
    let (log, dirs) = (redis.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    // It knows nothing of the lock, and leads.
    let mut leader = Scheduler::start(dirs[0].path(), "leader", log.clone());
    leader.lead();
    let held = lock(&zookeeper);
    wait_until_held(&held);
    let mut holder = Scheduler::start(dirs[1].path(), "holder", log);
    holder.elect_by(held);
    for _ in 0..100 {
        leader.append(1).unwrap();
        holder.step().unwrap();
        assert!(holder.journal.is_none());
    }
    let acknowledged = leader.applied.clone();
    drop(leader);
    holder.lead();
    assert_eq!(holder.applied, acknowledged);
}

#[test]
fn lock_that_is_released_goes_to_another() {
    let zookeeper = ZooKeeperServer::start().unwrap();
    let (first, second) = (lock(&zookeeper), lock(&zookeeper));
    let began = Instant::now();
    while !first.is_held() && !second.is_held() {
        assert!(began.elapsed() < DEADLINE, "the lock is free and not taken");
        std::thread::yield_now();
    }
    let (holder, other) = if first.is_held() { (first, second) } else { (second, first) };
    holder.release();
    wait_until_held(&other);
    assert!(!holder.is_held());
}
