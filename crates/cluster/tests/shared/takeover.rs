//! One leads at a time, and nothing that was acknowledged is lost on the way.

use bellwether_cluster::{Cluster, Role};
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::{AppendError, Snapshot};
use bytes::Bytes;
use tempfile::tempdir;

use crate::backend::{Backend, Postgres, Redis};
use crate::link::Link;
use crate::scheduler::{Scheduler, copy_of};

#[test]
fn follower_takes_over_from_a_leader_that_is_gone_over_redis() {
    follower_takes_over_from_a_leader_that_is_gone(&Redis::start());
}

#[test]
fn follower_takes_over_from_a_leader_that_is_gone_over_postgres() {
    follower_takes_over_from_a_leader_that_is_gone(&Postgres::start());
}

fn follower_takes_over_from_a_leader_that_is_gone(backend: &impl Backend) {
    let (log, dirs) = (backend.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    let mut second = Scheduler::start(dirs[1].path(), "second", log.clone());
    for _ in 0..10 {
        first.append(3).unwrap();
    }
    second.step_until("see the leader", |second| second.leader.is_some());
    assert_eq!(second.leader.as_ref().unwrap().grpc, "first:7301");
    let acknowledged = first.applied.clone();
    drop(first);
    second.lead();
    assert_eq!(second.applied, acknowledged);
    assert_eq!(second.leader.as_ref().unwrap().grpc, "second:7301");
    assert_eq!(second.cluster.status().role, Role::Reigning);
    second.append(2).unwrap();
    assert_eq!(copy_of(&second.cluster), second.applied);

    let mut first = Scheduler::start(dirs[0].path(), "first", log);
    first.step_until("catch up", |first| first.head == second.head);
    assert_eq!(first.applied, second.applied);
}

#[test]
fn leader_that_is_cut_off_falls_silent_before_another_leads_over_redis() {
    leader_that_is_cut_off_falls_silent_before_another_leads(&Redis::start());
}

#[test]
fn leader_that_is_cut_off_falls_silent_before_another_leads_over_postgres() {
    leader_that_is_cut_off_falls_silent_before_another_leads(&Postgres::start());
}

fn leader_that_is_cut_off_falls_silent_before_another_leads(backend: &impl Backend) {
    let (log, link) = (backend.log(), Link::default());
    let dirs = [tempdir().unwrap(), tempdir().unwrap()];
    let mut first = Scheduler::start(dirs[0].path(), "first", link.over(&log));
    first.lead();
    first.append(5).unwrap();
    let mut second = Scheduler::start(dirs[1].path(), "second", log);
    second.step_until("catch up", |second| second.head == first.head);
    assert!(first.may_answer());
    link.cut();
    second.step_until("lead", |second| {
        let leads = second.journal.is_some();
        assert!(!leads || !first.may_answer(), "two may answer");
        leads
    });
    second.append(4).unwrap();
    link.heal();
    let error = first.append(1).unwrap_err();
    assert!(matches!(error, AppendError::Fenced { .. } | AppendError::Deposed), "{error}");
    assert!(!first.may_answer());
    first.step_down();
    first.step_until("catch up", |first| first.head == second.head);
    assert_eq!(first.applied, second.applied);
    assert_eq!(first.leader.as_ref().unwrap().epoch, Epoch(2));
}

#[test]
fn leader_that_resigns_hands_over_at_once_over_redis() {
    leader_that_resigns_hands_over_at_once(&Redis::start());
}

#[test]
fn leader_that_resigns_hands_over_at_once_over_postgres() {
    leader_that_resigns_hands_over_at_once(&Postgres::start());
}

fn leader_that_resigns_hands_over_at_once(backend: &impl Backend) {
    let (log, dirs) = (backend.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    first.append(5).unwrap();
    let mut second = Scheduler::start(dirs[1].path(), "second", log);
    second.step_until("catch up", |second| second.head == first.head);
    first.cluster.resign(None).unwrap();
    assert!(!first.may_answer());
    let error = first.append(1).unwrap_err();
    assert!(matches!(error, AppendError::Fenced { .. }), "{error}");
    first.step_down();
    second.lead();
    second.append(1).unwrap();
    first.step_until("follow", |first| first.head == second.head);
}

#[test]
fn append_without_an_answer_is_found_out_about_over_redis() {
    append_without_an_answer_is_found_out_about(&Redis::start());
}

#[test]
fn append_without_an_answer_is_found_out_about_over_postgres() {
    append_without_an_answer_is_found_out_about(&Postgres::start());
}

fn append_without_an_answer_is_found_out_about(backend: &impl Backend) {
    let (log, link) = (backend.log(), Link::default());
    let dir = tempdir().unwrap();
    let mut scheduler = Scheduler::start(dir.path(), "first", link.over(&log));
    scheduler.lead();
    link.lose_an_answer();
    scheduler.append(2).unwrap();
    scheduler.append(2).unwrap();
    let kept = log().unwrap().read(Seq(0), 1 << 20).unwrap();
    assert_eq!(kept.iter().map(|record| record.last).collect::<Vec<_>>(), [Seq(2), Seq(4)]);
}

#[test]
fn record_of_unknown_fate_is_told_if_it_was_kept_over_redis() {
    record_of_unknown_fate_is_told_if_it_was_kept(&Redis::start());
}

#[test]
fn record_of_unknown_fate_is_told_if_it_was_kept_over_postgres() {
    record_of_unknown_fate_is_told_if_it_was_kept(&Postgres::start());
}

fn record_of_unknown_fate_is_told_if_it_was_kept(backend: &impl Backend) {
    let (log, link) = (backend.log(), Link::default());
    let dir = tempdir().unwrap();
    let mut scheduler = Scheduler::start(dir.path(), "first", link.over(&log));
    scheduler.lead();
    scheduler.append(2).unwrap();
    link.cut_after_the_next_append();
    let error = scheduler.append(3).unwrap_err();
    assert!(matches!(error, AppendError::Deposed), "{error}");
    assert!(!scheduler.may_answer());
    scheduler.step_down();
    link.heal();
    scheduler.step_until("hear of it", |scheduler| scheduler.head.seq == Seq(5));
    scheduler.lead();
}

#[test]
fn who_joins_late_begins_with_a_snapshot_over_redis() {
    who_joins_late_begins_with_a_snapshot(&Redis::start());
}

#[test]
fn who_joins_late_begins_with_a_snapshot_over_postgres() {
    who_joins_late_begins_with_a_snapshot(&Postgres::start());
}

fn who_joins_late_begins_with_a_snapshot(backend: &impl Backend) {
    let (log, dirs) = (backend.log(), [tempdir().unwrap(), tempdir().unwrap()]);
    let mut first = Scheduler::start(dirs[0].path(), "first", log.clone());
    first.lead();
    for _ in 0..8 {
        first.append(5).unwrap();
    }
    let snapshot = Snapshot { head: first.head, bytes: Bytes::from(vec![7; 3 << 20]) };
    let journal = first.journal.as_mut().unwrap();
    journal.save_snapshot(&snapshot).unwrap();
    journal.truncate_before(Seq(31)).unwrap();
    let mut look = log().unwrap();
    first.step_until("truncate", |_| look.look().unwrap().base.seq == Seq(30));
    first.append(5).unwrap();

    let mut second = Scheduler::start(dirs[1].path(), "second", log.clone());
    second.step_until("catch up", |second| second.head == first.head);
    assert_eq!(second.begun_with, Some(snapshot));
    assert_eq!(second.applied, first.applied[40..]);
    drop(second);
    let second = Scheduler::start(dirs[1].path(), "second", log);
    assert_eq!(second.head, first.head, "its own disk is enough to start again");
}
