//! What every shared log must do: `conformance::shared::run(|| MyBed::new())`.

use std::time::{Duration, Instant};

use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;

use super::samples::Samples;
use crate::chain::Head;
use crate::journal::AppendError;
use crate::recorder::Recorder;
use crate::shared::{Candidate, RawRecord, SharedError, SharedLog};
use crate::snapshot::Snapshot;

/// An empty log that many connections reach.
pub trait SharedBed {
    /// # Panics
    /// If it can't be reached.
    fn connect(&self) -> Box<dyn SharedLog>;
}

/// Longer than a test may take.
const LONG: Duration = Duration::from_secs(600);
const SHORT: Duration = Duration::from_millis(100);
const DEADLINE: Duration = Duration::from_secs(20);
const BYTES: usize = 1 << 20;

/// Runs the whole suite, each case on a log of its own.
///
/// # Panics
/// If the backend breaks a promise.
pub fn run<B: SharedBed>(mut bed: impl FnMut() -> B) {
    starts_empty(&bed());
    numbers_are_given_once(&bed());
    gives_back_what_was_appended(&bed());
    reads_some_at_a_time(&bed());
    one_leads_while_its_lease_runs(&bed());
    lease_runs_out_by_itself(&bed());
    append_and_renewal_lengthen_the_lease(&bed());
    same_member_need_not_wait_for_itself(&bed());
    older_epoch_changes_nothing(&bed());
    resigned_reign_changes_nothing(&bed());
    refuses_a_wrong_head(&bed());
    one_of_many_accedes(&bed());
    one_of_two_appends_at_the_same_place(&bed());
    snapshot_stands_for_what_is_forgotten(&bed());
    snapshot_replaces_the_one_before(&bed());
    epoch_is_later_than_what_the_candidate_knows(&bed());
    empty_log_begins_with_a_snapshot(&bed());
}

fn candidate(member: u16) -> Candidate {
    Candidate { member, grpc: format!("host{member}:7301"), http: format!("host{member}:7300") }
}

/// Records in one chain, of one entry each.
fn records(epoch: Epoch, after: Head, count: usize) -> Vec<RawRecord> {
    let mut recorder = Recorder::new(after);
    let entries = Samples::new(7, after.seq).entries(count);
    let one = |entry| {
        let draft = recorder.draft(epoch, std::slice::from_ref(entry));
        let head = draft.head;
        let bytes = Bytes::copy_from_slice(draft.bytes);
        recorder.accept(head);
        RawRecord { last: head.seq, chain: head.chain, bytes }
    };
    entries.iter().map(one).collect()
}

fn accede(log: &mut dyn SharedLog, member: u16, lease: Duration) -> (Epoch, Head) {
    log.accede(&candidate(member), Epoch(0), lease)
        .expect("the log can be reached")
        .expect("nobody else leads")
}

fn append_all(log: &mut dyn SharedLog, epoch: Epoch, after: Head, records: &[RawRecord]) -> Head {
    let mut head = after;
    for record in records {
        log.append(epoch, head, record, LONG).expect("the append has room and rank");
        head = record.head();
    }
    head
}

/// A reign that is not over soon, with some records.
fn reign(log: &mut dyn SharedLog, count: usize) -> (Epoch, Head, Vec<RawRecord>) {
    let (epoch, head) = accede(log, 1, LONG);
    let records = records(epoch, head, count);
    let head = append_all(log, epoch, head, &records);
    (epoch, head, records)
}

fn starts_empty(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let sight = log.look().expect("the log can be reached");
    assert_eq!((sight.base, sight.head, sight.epoch), (Head::GENESIS, Head::GENESIS, Epoch(0)));
    assert_eq!(sight.leader, None);
    assert!(log.read(Seq(0), BYTES).expect("the log can be reached").is_empty());
    assert_eq!(log.load_snapshot().expect("no snapshot is no error"), None);
    assert_eq!(accede(log.as_mut(), 1, LONG), (Epoch(1), Head::GENESIS));
}

fn numbers_are_given_once(bed: &impl SharedBed) {
    let mut numbers: Vec<u16> =
        (0..4).map(|_| bed.connect().enroll().expect("the log can be reached")).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

fn gives_back_what_was_appended(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, head, records) = reign(log.as_mut(), 20);
    let mut other = bed.connect();
    let sight = other.look().expect("the log can be reached");
    assert_eq!((sight.base, sight.head, sight.epoch), (Head::GENESIS, head, epoch));
    let found = other.read(Seq(0), BYTES).expect("the log can be reached");
    assert_eq!(found, records);
    let mut prior = Head::GENESIS;
    for record in &found {
        prior = record.decode(prior).expect("the chain is whole").head();
    }
    assert_eq!(prior, head);
}

fn reads_some_at_a_time(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (_, head, records) = reign(log.as_mut(), 20);
    let mut found: Vec<RawRecord> = Vec::new();
    while found.len() < records.len() {
        let after = found.last().map_or(Seq(0), |record| record.last);
        let some = log.read(after, 200).expect("the log can be reached");
        assert!(!some.is_empty(), "at least one, however large");
        found.extend(some);
    }
    assert_eq!(found, records);
    assert!(log.read(head.seq, BYTES).expect("the log can be reached").is_empty());
}

fn one_leads_while_its_lease_runs(bed: &impl SharedBed) {
    let (mut first, mut second) = (bed.connect(), bed.connect());
    accede(first.as_mut(), 1, LONG);
    let refused = second.accede(&candidate(2), Epoch(0), LONG).expect("the log can be reached");
    assert_eq!(refused, None);
    let sight = second.look().expect("the log can be reached");
    let (leader, left) = sight.leader.expect("one leads");
    assert_eq!(leader, candidate(1));
    assert!(left > Duration::ZERO && left <= LONG, "{left:?}");
}

fn lease_runs_out_by_itself(bed: &impl SharedBed) {
    let (mut first, mut second) = (bed.connect(), bed.connect());
    let began = Instant::now();
    let (epoch, _) = accede(first.as_mut(), 1, SHORT);
    while second.look().expect("the log can be reached").leader.is_some() {
        assert!(began.elapsed() < DEADLINE, "a lease of {SHORT:?} is over in {DEADLINE:?}");
    }
    assert!(began.elapsed() >= SHORT, "it runs as long as it says");
    // Nobody else has acceded: it may go on.
    assert!(first.renew(epoch, SHORT).expect("the log can be reached"));
    while second.look().expect("the log can be reached").leader.is_some() {
        assert!(began.elapsed() < DEADLINE, "a lease of {SHORT:?} is over in {DEADLINE:?}");
    }
    assert_eq!(accede(second.as_mut(), 2, LONG).0, Epoch(2));
    assert!(!first.renew(epoch, SHORT).expect("the log can be reached"));
}

fn append_and_renewal_lengthen_the_lease(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, head) = accede(log.as_mut(), 1, SHORT);
    let left = |log: &mut dyn SharedLog| {
        log.look().expect("the log can be reached").leader.map_or(Duration::ZERO, |(_, left)| left)
    };
    assert!(left(log.as_mut()) <= SHORT);
    assert!(log.renew(epoch, LONG / 2).expect("the log can be reached"));
    let renewed = left(log.as_mut());
    assert!(renewed > SHORT && renewed <= LONG / 2, "{renewed:?}");
    append_all(log.as_mut(), epoch, head, &records(epoch, head, 1));
    assert!(left(log.as_mut()) > LONG / 2);
}

fn same_member_need_not_wait_for_itself(bed: &impl SharedBed) {
    let (mut before, mut after) = (bed.connect(), bed.connect());
    let (epoch, head) = accede(before.as_mut(), 1, LONG);
    assert_eq!(accede(after.as_mut(), 1, LONG), (epoch.next(), head));
    let result = before.append(epoch, head, &records(epoch, head, 1)[0], LONG);
    assert!(matches!(result, Err(AppendError::Fenced { .. })), "{result:?}");
}

fn older_epoch_changes_nothing(bed: &impl SharedBed) {
    let (mut older, mut newer) = (bed.connect(), bed.connect());
    let (epoch, head, _) = reign(older.as_mut(), 3);
    let (next, at) = accede(newer.as_mut(), 1, LONG);
    assert_eq!((next, at), (epoch.next(), head));
    let seen = newer.look().expect("the log can be reached");
    let late = &records(epoch, head, 1)[0];
    let result = older.append(epoch, head, late, LONG);
    assert!(matches!(result, Err(AppendError::Fenced { current }) if current == next));
    older.resign(epoch).expect("a reign that is over may end");
    let snapshot = Snapshot { head, bytes: Bytes::from_static(b"state") };
    let result = older.save_snapshot(epoch, &snapshot, head.seq.next());
    assert!(matches!(result, Err(SharedError::Fenced { .. })), "{result:?}");
    let sight = newer.look().expect("the log can be reached");
    assert_eq!((sight.head, sight.base, sight.epoch), (seen.head, seen.base, next));
    assert!(sight.leader.is_some(), "the newer one still leads");
    append_all(newer.as_mut(), next, head, &records(next, head, 1));
}

fn resigned_reign_changes_nothing(bed: &impl SharedBed) {
    let (mut log, mut other) = (bed.connect(), bed.connect());
    let (epoch, head, _) = reign(log.as_mut(), 2);
    log.resign(epoch).expect("the log can be reached");
    assert_eq!(other.look().expect("the log can be reached").leader, None);
    let result = log.append(epoch, head, &records(epoch, head, 1)[0], LONG);
    assert!(matches!(result, Err(AppendError::Fenced { .. })), "{result:?}");
    assert!(!log.renew(epoch, LONG).expect("the log can be reached"));
    assert_eq!(accede(other.as_mut(), 2, LONG), (epoch.next(), head));
}

fn refuses_a_wrong_head(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, head, kept) = reign(log.as_mut(), 5);
    let record = &records(epoch, head, 1)[0];
    let other_chain = Head { chain: kept[0].chain, ..head };
    for wrong in [kept[3].head(), other_chain, Head { seq: head.seq.next(), ..head }] {
        let result = log.append(epoch, wrong, record, LONG);
        assert!(matches!(result, Err(AppendError::WrongPosition { .. })), "{result:?}");
    }
    assert_eq!(log.look().expect("the log can be reached").head, head);
    append_all(log.as_mut(), epoch, head, std::slice::from_ref(record));
}

fn one_of_many_accedes(bed: &impl SharedBed) {
    let stood: Vec<Option<(Epoch, Head)>> = std::thread::scope(|scope| {
        let stand = |member| {
            let mut log = bed.connect();
            scope.spawn(move || {
                log.accede(&candidate(member), Epoch(0), LONG).expect("it can be reached")
            })
        };
        let threads: Vec<_> = (1..=8).map(stand).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(stood.iter().flatten().count(), 1, "{stood:?}");
}

/// Two processes that both take themselves for the same reign: one record wins, at each place.
fn one_of_two_appends_at_the_same_place(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, mut head) = accede(log.as_mut(), 1, LONG);
    for _ in 0..20 {
        let record = records(epoch, head, 1).remove(0);
        let appended: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let (mut log, record) = (bed.connect(), record.clone());
                    scope.spawn(move || log.append(epoch, head, &record, LONG).is_ok())
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).map(usize::from).sum()
        });
        assert_eq!(appended, 1);
        head = record.head();
    }
    assert_eq!(log.look().expect("the log can be reached").head, head);
    assert_eq!(log.read(Seq(0), BYTES).expect("the log can be reached").len(), 20);
}

fn snapshot_stands_for_what_is_forgotten(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, head, kept) = reign(log.as_mut(), 10);
    // Of more than one part.
    let bytes =
        Bytes::from((0..2_500_000_u32).map(|i| i as u8 ^ (i >> 8) as u8).collect::<Vec<_>>());
    let snapshot = Snapshot { head: kept[7].head(), bytes };
    log.save_snapshot(epoch, &snapshot, kept[5].last).expect("there is room for a snapshot");
    let mut other = bed.connect();
    let sight = other.look().expect("the log can be reached");
    assert_eq!((sight.base, sight.head), (kept[4].head(), head));
    assert_eq!(other.load_snapshot().expect("the snapshot is sound"), Some(snapshot));
    let rest = other.read(sight.base.seq, BYTES).expect("the log can be reached");
    assert_eq!(rest, kept[5..]);
    append_all(log.as_mut(), epoch, head, &records(epoch, head, 1));
}

fn snapshot_replaces_the_one_before(bed: &impl SharedBed) {
    let mut log = bed.connect();
    let (epoch, head, kept) = reign(log.as_mut(), 4);
    for (at, state) in [(kept[1].head(), "older"), (head, "newer"), (head, "newer still")] {
        let snapshot = Snapshot { head: at, bytes: Bytes::from_static(state.as_bytes()) };
        log.save_snapshot(epoch, &snapshot, at.seq.next()).expect("there is room for a snapshot");
        assert_eq!(log.load_snapshot().expect("the snapshot is sound"), Some(snapshot));
    }
    let sight = log.look().expect("the log can be reached");
    assert_eq!((sight.base, sight.head), (head, head), "all records are forgotten, none is lost");
    assert!(log.read(head.seq, BYTES).expect("the log can be reached").is_empty());
}

fn epoch_is_later_than_what_the_candidate_knows(bed: &impl SharedBed) {
    let mut log = bed.connect();
    for (after, epoch) in [(Epoch(7), Epoch(8)), (Epoch(3), Epoch(9)), (Epoch(9), Epoch(10))] {
        let acceded = log.accede(&candidate(1), after, LONG).expect("the log can be reached");
        assert_eq!(acceded, Some((epoch, Head::GENESIS)));
    }
}

fn empty_log_begins_with_a_snapshot(bed: &impl SharedBed) {
    let (mut log, mut model) = (bed.connect(), Recorder::new(Head::GENESIS));
    let head = model.record(Epoch(1), &Samples::new(7, Seq(0)).entries(30));
    let (epoch, _) = accede(log.as_mut(), 1, LONG);
    let snapshot = Snapshot { head, bytes: Bytes::from_static(b"state") };
    log.begin_at(epoch, &snapshot).expect("there is room for a snapshot");
    let sight = log.look().expect("the log can be reached");
    assert_eq!((sight.base, sight.head), (head, head));
    assert_eq!(log.load_snapshot().expect("the snapshot is sound"), Some(snapshot.clone()));
    append_all(log.as_mut(), epoch, head, &records(epoch, head, 2));
    log.begin_at(epoch, &snapshot).expect_err("there are records");
    log.begin_at(Epoch(0), &snapshot).expect_err("that reign is over");
    assert_eq!(log.read(head.seq, BYTES).expect("the log can be reached").len(), 2);
}
