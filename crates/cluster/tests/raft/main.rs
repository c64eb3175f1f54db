//! Members that agree by Raft, over real connections and disks.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod authority;
mod cut;
mod pool;

use authority::Authority;
use bellwether_cluster::raft::{MembershipError, PeerSecurity, PeerTls, RaftCluster};
use bellwether_cluster::{Cluster as _, MemberId};
use bellwether_core::model::Seq;
use bellwether_journal::{AppendError, Head, Snapshot};
use cut::Way;
use pool::Pool;

/// Appends until so many records are committed, whoever reigns.
fn commit(pool: &mut Pool, records: usize) -> Head {
    let mut head = Head::GENESIS;
    for _ in 0..records {
        let leader = pool.until_one_reigns();
        head = pool.get(leader).append(3).unwrap();
    }
    head
}

#[test]
fn one_is_elected_and_what_it_commits_is_told_to_all() {
    let mut pool = Pool::of(3);
    let head = commit(&mut pool, 20);
    pool.until_all_are_at(head);
    let leader = pool.reigning();
    pool.until("all know the leader", |pool| {
        pool.schedulers.iter().all(|one| one.leader.as_ref().map(|leader| leader.id) == leader)
    });
    let told = pool.schedulers[0].leader.clone().unwrap();
    assert_eq!(told.grpc, format!("grpc-{}", told.id));
    assert_eq!(told.epoch.0 & 0xffff, u64::from(told.id.0));
}

#[test]
fn when_the_leader_is_gone_another_reigns_and_nothing_committed_is_lost() {
    let mut pool = Pool::of(3);
    let before = commit(&mut pool, 10);
    let first = pool.reigning().unwrap();
    let gone = pool.stop(first);
    let epoch = gone.journal.as_ref().unwrap().epoch();
    drop(gone);
    let second = pool.until_one_reigns();
    assert_ne!(first, second);
    let scheduler = pool.get(second);
    assert_eq!(scheduler.head, before);
    assert!(scheduler.journal.as_ref().unwrap().epoch() > epoch);
    let head = commit(&mut pool, 10);
    pool.start(first.0);
    pool.until_all_are_at(head);
    assert!(pool.schedulers.iter().all(|one| one.heads == pool.schedulers[0].heads));
}

#[test]
fn a_leader_without_a_majority_can_commit_nothing_and_says_that_it_does_not_know() {
    let mut pool = Pool::of(3);
    let before = commit(&mut pool, 3);
    pool.until_all_are_at(before);
    let leader = pool.reigning().unwrap();
    let others: Vec<MemberId> =
        pool.schedulers.iter().map(|one| one.id).filter(|id| *id != leader).collect();
    for other in &others {
        drop(pool.stop(*other));
    }
    let lease = pool.get(leader).journal.as_ref().unwrap().lease();
    let error = pool.get(leader).append(3).unwrap_err();
    assert!(matches!(error, AppendError::Deposed), "{error}");
    assert_eq!(lease.ends_at().0, 0, "its lease is over");
    let error = pool.get(leader).append(3).unwrap_err();
    assert!(matches!(error, AppendError::Fenced { .. }), "{error}");
    pool.get(leader).end_reign();
    for other in &others {
        pool.start(other.0);
    }
    // What is not known may have been kept; whatever became of it, all agree.
    let head = commit(&mut pool, 3);
    pool.until_all_are_at(head);
}

#[test]
fn members_go_on_from_their_disks() {
    let mut pool = Pool::of(3);
    let head = commit(&mut pool, 30);
    pool.until_all_are_at(head);
    pool.schedulers.clear();
    for id in 1..=3 {
        assert_eq!(RaftCluster::owner(&pool.dir(id)).unwrap(), Some(MemberId(id)));
        pool.start(id);
    }
    pool.until_all_are_at(head);
    let head = commit(&mut pool, 5);
    pool.until_all_are_at(head);
    let reader = pool.schedulers[0].cluster.reader().unwrap();
    let read: Vec<Head> =
        reader.read(Seq(1)).unwrap().map(|record| record.unwrap().head()).collect();
    assert_eq!(read.last(), Some(&head));
    assert_eq!(read.len(), 35);
    let middle = reader.read(Seq(50)).unwrap().next().unwrap().unwrap();
    assert_eq!(middle.first(), Seq(50));
}

#[test]
fn one_that_joins_gets_the_snapshot_then_the_rest_then_a_vote() {
    let mut pool = Pool::of(1);
    let saved = commit(&mut pool, 20);
    let bytes = vec![7; 3 << 20].into();
    let first = MemberId(1);
    let journal = pool.get(first).journal.as_mut().unwrap();
    journal.save_snapshot(&Snapshot { head: saved, bytes }).unwrap();
    journal.truncate_before(saved.seq.next()).unwrap();
    let head = commit(&mut pool, 5);
    pool.until("the past is forgotten", |pool| {
        pool.get(first).cluster.reader().unwrap().base().unwrap().seq == saved.seq
    });

    let (address, place) = (pool.place(1).address, pool.place(2));
    let join = || RaftCluster::join(&address, "test", &Pool::security(), &place).unwrap();
    let id = join();
    assert_eq!((id, join()), (MemberId(2), MemberId(2)), "asking again gives the same number");
    pool.start(2);
    pool.until_all_are_at(head);
    assert_eq!(pool.get(id).snapshots, [saved]);
    assert_eq!(pool.get(id).heads.len(), 5);
    pool.until("it votes", |pool| {
        pool.schedulers.iter().all(|one| {
            let members = one.cluster.status().members;
            members.len() == 2 && members.iter().all(|member| member.votes)
        })
    });
    // Both are needed now.
    drop(pool.stop(id));
    let error = pool.get(first).append(1).unwrap_err();
    assert!(matches!(error, AppendError::Deposed), "{error}");
}

#[test]
fn a_snapshot_that_is_cut_off_goes_on_from_there_also_in_another_process() {
    const MIB: u64 = 1 << 20;
    let mut pool = Pool::of(1);
    let saved = commit(&mut pool, 20);
    let bytes = vec![7; 24 << 20].into();
    let journal = pool.get(MemberId(1)).journal.as_mut().unwrap();
    journal.save_snapshot(&Snapshot { head: saved, bytes }).unwrap();
    journal.truncate_before(saved.seq.next()).unwrap();
    pool.until("the past is forgotten", |pool| {
        pool.get(MemberId(1)).cluster.reader().unwrap().base().unwrap().seq == saved.seq
    });
    let (address, place, own) = (pool.place(1).address, pool.place(2), pool.behind(2));
    let way = Way::open(&place.address, &own);
    way.allow(8 * MIB);
    let id = RaftCluster::join(&address, "test", &Pool::security(), &place).unwrap();
    pool.start_at(2, &own, Pool::security());
    pool.until("a third has arrived", |_| way.is_used_up());
    // Work goes on meanwhile.
    let head = commit(&mut pool, 5);
    way.allow(16 * MIB);
    pool.until("another third has arrived", |_| way.is_used_up());
    drop(pool.stop(id));
    pool.start_at(2, &own, Pool::security());
    way.allow(u64::MAX);
    pool.until_all_are_at(head);
    assert_eq!(pool.get(id).snapshots, [saved]);
    // Whatever was under way when it was cut is sent again, and nothing else.
    assert!(way.passed() < 29 * MIB, "{} bytes were sent", way.passed());
}

#[test]
fn who_has_another_token_or_pool_is_refused() {
    let mut pool = Pool::of(1);
    let (address, place) = (pool.place(1).address, pool.place(2));
    let mut other = Pool::security();
    other.token = Some("a guess".to_owned());
    let error = RaftCluster::join(&address, "test", &other, &place).unwrap_err();
    assert!(error.to_string().contains("another token"), "{error}");
    let error = RaftCluster::join(&address, "elsewhere", &Pool::security(), &place).unwrap_err();
    assert!(error.to_string().contains("pool \"test\""), "{error}");
}

#[test]
fn who_has_no_certificate_of_the_authority_is_not_heard() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let secured = |tls: Option<PeerTls>| PeerSecurity { tls, ..Pool::security() };
    let mut pool = Pool::empty();
    pool.start_with(1, secured(Some(ours.member())));
    let place = pool.place(1);
    let first = [(MemberId(1), place.clone())].into();
    pool.schedulers[0].cluster.handle().initialize(first).unwrap();
    pool.until_one_reigns();
    let candidate = pool.place(2);
    let join =
        |tls: Option<PeerTls>| RaftCluster::join(&place.address, "test", &secured(tls), &candidate);
    join(None).unwrap_err();
    join(Some(theirs.member())).unwrap_err();
    // It trusts the one that it calls, which does not trust it.
    let half = PeerTls { authority: ours.member().authority, ..theirs.member() };
    join(Some(half)).unwrap_err();
    assert_eq!(join(Some(ours.member())).unwrap(), MemberId(2));
}

#[test]
fn a_leader_hands_over_to_the_one_it_names() {
    let mut pool = Pool::of(3);
    let head = commit(&mut pool, 3);
    pool.until_all_are_at(head);
    let leader = pool.reigning().unwrap();
    let successor =
        pool.schedulers.iter().map(|one| one.id).filter(|id| *id != leader).max().unwrap();
    pool.get(leader).cluster.resign(Some(successor)).unwrap();
    pool.until("the successor reigns", |pool| pool.reigning() == Some(successor));
    commit(&mut pool, 3);
}

#[test]
fn a_member_is_removed_only_if_a_majority_stays() {
    let mut pool = Pool::of(3);
    commit(&mut pool, 3);
    let leader = pool.reigning().unwrap();
    let others: Vec<MemberId> =
        pool.schedulers.iter().map(|one| one.id).filter(|id| *id != leader).collect();
    let handle = pool.get(leader).cluster.handle();
    assert!(matches!(handle.remove(MemberId(9)), Err(MembershipError::Unknown(MemberId(9)))));
    let follower = pool.get(others[0]).cluster.handle();
    assert!(matches!(follower.remove(leader), Err(MembershipError::NotLeader(_))));
    drop(pool.stop(others[0]));
    let error = handle.remove(others[1]).unwrap_err();
    assert!(matches!(error, MembershipError::BreaksQuorum(..)), "{error}");
    handle.remove(others[0]).unwrap();
    assert_eq!(handle.status().members.len(), 2);
    let head = commit(&mut pool, 3);
    pool.until_all_are_at(head);
}
