//! What every backend must do, as one suite: `conformance::run(|| MyBed::new())`.

pub mod lives;
pub mod samples;
pub mod shared;

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bytes::Bytes;

use crate::chain::{Chain, Head};
use crate::journal::{AppendError, Journal, ReadError, Reader, TruncateError};
use crate::snapshot::Snapshot;
use samples::Samples;

/// A place where journals of one backend can be opened, again and again.
pub trait Bed {
    /// Opens the journal that lies here: the first time an empty one.
    ///
    /// # Panics
    /// If it can't be opened.
    fn open(&mut self) -> Box<dyn Journal>;

    /// Whether a second journal may be opened beside the first; else that is refused.
    fn opens_twice(&self) -> bool;
}

/// Runs the whole suite, each case on a bed of its own.
///
/// # Panics
/// If the backend breaks a promise.
pub fn run<B: Bed>(mut bed: impl FnMut() -> B) {
    starts_empty(&mut bed());
    gives_back_what_was_appended(&mut bed());
    reads_from_the_middle_of_a_record(&mut bed());
    follows_while_others_append(&mut bed());
    refuses_a_wrong_position(&mut bed());
    refuses_an_older_epoch(&mut bed());
    goes_on_after_a_reopening(&mut bed());
    chain_depends_on_entries_and_epochs_only(&mut bed(), &mut bed());
    keeps_the_latest_snapshot(&mut bed());
    truncates_only_behind_a_snapshot(&mut bed());
    let bed = bed();
    if bed.opens_twice() {
        newer_scheduler_fences_the_older(bed);
    }
}

/// All entries from a position on.
///
/// # Panics
/// If they can't be read.
pub fn read_all(journal: &dyn Reader, from: Seq) -> Vec<Entry> {
    let records = journal.read(from).expect("the journal can be read");
    records.flat_map(|record| record.expect("the journal is sound").entries).collect()
}

/// Appends the entries in records of the given lengths.
fn append_in(journal: &mut dyn Journal, entries: &[Entry], lengths: &[usize]) -> Head {
    let mut rest = entries;
    for &length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (record, after) = rest.split_at(length.min(rest.len()));
        let expected = Seq(record[0].seq.0 - 1);
        let head = journal
            .append(journal.epoch(), expected, record)
            .expect("the append has room and rank");
        assert_eq!(head, journal.head());
        assert_eq!(head.seq, record[record.len() - 1].seq);
        rest = after;
    }
    journal.head()
}

fn sample(count: usize) -> Vec<Entry> {
    Samples::new(count as u64, Seq(0)).entries(count)
}

fn starts_empty(bed: &mut impl Bed) {
    let mut journal = bed.open();
    assert_eq!(journal.head(), Head::GENESIS);
    assert_eq!(journal.base().expect("an empty journal is sound"), Head::GENESIS);
    assert_eq!(journal.epoch(), Epoch(1));
    assert!(read_all(journal.as_ref(), Seq(1)).is_empty());
    assert!(journal.load_snapshot().expect("no snapshot is no error").is_none());
    let head = journal.append(Epoch(1), Seq(0), &[]).expect("nothing can always be appended");
    assert_eq!(head, Head::GENESIS);
}

fn gives_back_what_was_appended(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let entries = Samples::new(1, Seq(0)).every_kind();
    append_in(journal.as_mut(), &entries, &[1, 7, 3]);
    assert_eq!(read_all(journal.as_ref(), Seq(1)), entries);
    let reader = journal.reader().expect("a second reader is allowed");
    assert_eq!(read_all(reader.as_ref(), Seq(1)), entries);

    let records: Vec<_> = journal
        .read(Seq(1))
        .expect("the journal can be read")
        .map(|record| record.expect("the journal is sound"))
        .collect();
    assert_eq!(records[0].prior, Chain::GENESIS);
    assert!(records.windows(2).all(|pair| pair[0].chain == pair[1].prior));
    assert_eq!(records.last().map(|record| record.head()), Some(journal.head()));
}

fn reads_from_the_middle_of_a_record(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let entries = sample(20);
    append_in(journal.as_mut(), &entries, &[6]);
    for from in 1..=20 {
        assert_eq!(read_all(journal.as_ref(), Seq(from as u64)), entries[from - 1..]);
    }
    assert!(read_all(journal.as_ref(), Seq(21)).is_empty());
}

fn follows_while_others_append(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let reader = journal.reader().expect("a second reader is allowed");
    let entries = sample(200);
    let mut seen = Vec::new();
    for (round, part) in entries.chunks(10).enumerate() {
        append_in(journal.as_mut(), part, &[3]);
        if round % 3 == 0 {
            let next = Seq(seen.len() as u64 + 1);
            seen.extend(read_all(reader.as_ref(), next));
            assert_eq!(seen, entries[..10 * (round + 1)]);
            // Others follow more slowly, or from within a record.
            let from = seen.len() / 2;
            assert_eq!(read_all(reader.as_ref(), Seq(from as u64 + 1)), seen[from..]);
        }
    }
}

fn refuses_a_wrong_position(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let entries = sample(10);
    append_in(journal.as_mut(), &entries[..5], &[5]);
    let epoch = journal.epoch();
    let mut refused = |expected: u64, entries: &[Entry]| {
        let result = journal.append(epoch, Seq(expected), entries);
        assert!(matches!(result, Err(AppendError::WrongPosition { .. })), "{result:?}");
    };
    refused(6, &entries[6..]);
    refused(4, &entries[4..]);
    refused(5, &entries[6..]);
    refused(0, &entries[..1]);
    refused(7, &[]);
    append_in(journal.as_mut(), &entries[5..], &[5]);
    assert_eq!(read_all(journal.as_ref(), Seq(1)), entries);
}

fn refuses_an_older_epoch(bed: &mut impl Bed) {
    drop(bed.open());
    let mut journal = bed.open();
    assert_eq!(journal.epoch(), Epoch(2));
    let result = journal.append(Epoch(1), Seq(0), &sample(1));
    assert!(matches!(result, Err(AppendError::Fenced { current: Epoch(2) })), "{result:?}");
    assert_eq!(journal.head(), Head::GENESIS);
}

fn goes_on_after_a_reopening(bed: &mut impl Bed) {
    let entries = sample(60);
    let mut journal = bed.open();
    let mut head = append_in(journal.as_mut(), &entries[..20], &[3]);
    for (round, part) in entries[20..].chunks(10).enumerate() {
        drop(journal);
        journal = bed.open();
        assert_eq!(journal.head(), head);
        assert_eq!(journal.epoch(), Epoch(2 + round as u64));
        head = append_in(journal.as_mut(), part, &[4]);
    }
    drop(journal);
    assert_eq!(read_all(bed.open().as_ref(), Seq(1)), entries);
}

fn chain_depends_on_entries_and_epochs_only(one: &mut impl Bed, other: &mut impl Bed) {
    let entries = sample(30);
    let head = append_in(one.open().as_mut(), &entries, &[7]);
    assert_eq!(append_in(other.open().as_mut(), &entries, &[7]), head);
}

fn keeps_the_latest_snapshot(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let entries = sample(20);
    for part in entries.chunks(10) {
        let head = append_in(journal.as_mut(), part, &[5]);
        let bytes = Bytes::from(vec![head.seq.0 as u8; 100_000]);
        journal.save_snapshot(&Snapshot { head, bytes }).expect("there is room for a snapshot");
    }
    let head = journal.head();
    drop(journal);
    let loaded = bed.open().load_snapshot().expect("the snapshot is sound");
    assert_eq!(loaded, Some(Snapshot { head, bytes: vec![20; 100_000].into() }));
}

fn truncates_only_behind_a_snapshot(bed: &mut impl Bed) {
    let mut journal = bed.open();
    let entries = sample(40);
    let head = append_in(journal.as_mut(), &entries[..20], &[4]);
    let result = journal.truncate_before(Seq(5));
    assert!(matches!(result, Err(TruncateError::NoSnapshot { .. })), "{result:?}");
    journal
        .save_snapshot(&Snapshot { head, bytes: Bytes::from_static(b"state") })
        .expect("there is room for a snapshot");
    append_in(journal.as_mut(), &entries[20..], &[4]);
    let result = journal.truncate_before(Seq(25));
    assert!(matches!(result, Err(TruncateError::NoSnapshot { .. })), "{result:?}");

    journal.truncate_before(Seq(15)).expect("a snapshot stands for it");
    let kept = check_truncated(journal.as_ref(), &entries, Seq(15));
    drop(journal);
    let journal = bed.open();
    assert_eq!(check_truncated(journal.as_ref(), &entries, Seq(15)), kept);
}

/// A backend may keep more than it must, but only whole records and no entry less.
fn check_truncated(journal: &dyn Journal, entries: &[Entry], before: Seq) -> Seq {
    let first = journal.base().expect("the journal is sound").seq.next();
    assert!(first <= before && (first.0 - 1).is_multiple_of(4), "kept from {first}");
    assert_eq!(read_all(journal, first), entries[first.0 as usize - 1..]);
    if first > Seq(1) {
        let result = journal.read(Seq(first.0 - 1));
        assert!(matches!(result, Err(ReadError::Truncated { .. })));
    }
    first
}

fn newer_scheduler_fences_the_older(mut bed: impl Bed) {
    let entries = sample(10);
    let mut older = bed.open();
    append_in(older.as_mut(), &entries[..4], &[4]);
    let mut newer = bed.open();
    let result = older.append(older.epoch(), Seq(4), &entries[4..]);
    assert!(matches!(result, Err(AppendError::Fenced { .. })), "{result:?}");
    let result = older.truncate_before(Seq(1));
    assert!(result.is_err(), "a fenced scheduler truncates nothing");
    append_in(newer.as_mut(), &entries[4..], &[6]);
    assert_eq!(read_all(newer.as_ref(), Seq(1)), entries);
}
