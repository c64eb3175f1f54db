//! Snapshots beside the journal: damage is found, and so is a journal that does not go with them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::envelope::envelope;
use bellwether_journal::file::FileOptions;
use bellwether_journal::{FileJournal, Flaw, Journal, OpenError, Reader, Snapshot, SnapshotError};
use support::{copy_of, memory_dir};

#[expect(dead_code, reason = "other tests use the rest")]
mod support;

const SMALL: FileOptions = FileOptions { segment_bytes: 10_000 };
const SNAPSHOT: &str = "snapshot-00000000000000000006.bin";

/// Six entries and a snapshot after them, then three more.
fn write(dir: &Path) {
    let mut journal = FileJournal::open(dir, SMALL).unwrap();
    let entries = Samples::new(5, Seq(0)).small_entries(9);
    let head = journal.append(Epoch(1), Seq(0), &entries[..6]).unwrap();
    journal.save_snapshot(&Snapshot { head, bytes: vec![7; 300].into() }).unwrap();
    journal.append(Epoch(1), Seq(6), &entries[6..]).unwrap();
}

#[test]
fn flipped_byte_of_a_snapshot_is_never_silent() {
    let dir = memory_dir();
    write(dir.path());
    let bytes = fs::read(dir.path().join(SNAPSHOT)).unwrap();
    for position in 0..bytes.len() {
        let copy = copy_of(dir.path());
        let mut flipped = bytes.clone();
        flipped[position] ^= 0x10;
        fs::write(copy.path().join(SNAPSHOT), flipped).unwrap();
        match FileJournal::open(copy.path(), SMALL) {
            Ok(journal) => {
                let error = journal.load_snapshot().unwrap_err();
                assert!(matches!(error, SnapshotError::Damaged { at: Seq(6) }), "{error}");
            }
            Err(OpenError::Damaged(damage)) => assert_eq!(damage.at, Seq(6)),
            Err(error) => panic!("{error}"),
        }
    }
    for length in 0..bytes.len() {
        fs::write(dir.path().join(SNAPSHOT), &bytes[..length]).unwrap();
        let journal = FileJournal::open(dir.path(), SMALL).unwrap();
        journal.load_snapshot().unwrap_err();
    }
}

#[test]
fn journal_that_ends_before_its_snapshot_is_reported_without_any_witness() {
    let dir = memory_dir();
    write(dir.path());
    fs::remove_file(dir.path().join("head")).unwrap();
    fs::remove_file(dir.path().join("journal-00000000000000000000.log")).unwrap();
    let error = FileJournal::open(dir.path(), SMALL).unwrap_err();
    let OpenError::Damaged(damage) = &error else { panic!("{error}") };
    assert_eq!(damage.flaw, Flaw::Lost { acknowledged: Seq(6) });
}

#[test]
fn journal_of_another_history_is_refused() {
    let (dir, other) = (memory_dir(), memory_dir());
    write(dir.path());
    let mut journal = FileJournal::open(other.path(), SMALL).unwrap();
    let entries = Samples::new(6, Seq(0)).small_entries(9);
    journal.append(Epoch(1), Seq(0), &entries[..6]).unwrap();
    journal.append(Epoch(1), Seq(6), &entries[6..]).unwrap();
    drop(journal);
    fs::copy(dir.path().join(SNAPSHOT), other.path().join(SNAPSHOT)).unwrap();
    let error = FileJournal::open(other.path(), SMALL).unwrap_err();
    let OpenError::Damaged(damage) = &error else { panic!("{error}") };
    assert_eq!((damage.at, &damage.flaw), (Seq(6), &Flaw::Chain));
}

#[test]
fn envelopes_carry_the_chain_and_the_hash_of_what_they_hold() {
    let dir = memory_dir();
    let mut journal = FileJournal::open(dir.path(), SMALL).unwrap();
    let entries = Samples::new(5, Seq(0)).every_kind();
    journal.append(Epoch(1), Seq(0), &entries[..20]).unwrap();
    journal.append(Epoch(1), Seq(20), &entries[20..]).unwrap();
    let records: Vec<_> = journal.read(Seq(1)).unwrap().map(|record| record.unwrap()).collect();
    let all: Vec<_> = records
        .iter()
        .flat_map(|record| record.entries.iter().map(move |entry| envelope(record, entry)))
        .collect();
    assert_eq!(all.len(), entries.len());
    for (envelope, entry) in all.iter().zip(&entries) {
        assert_eq!((envelope.event_id, envelope.kind), (entry.seq, entry.event.name()));
        assert_eq!(envelope.payload, &entry.event);
    }
    assert_eq!(all[0].post_hash, all[20].prior_hash);
    assert_eq!(all.last().unwrap().post_hash, journal.head().chain);
    let hashes: std::collections::BTreeSet<_> = all.iter().map(|e| e.payload_hash).collect();
    assert_eq!(hashes.len(), all.len());
}

#[test]
fn the_journal_can_be_gone_back_in_to_where_it_begins() {
    let dir = memory_dir();
    let mut journal = FileJournal::open(dir.path(), FileOptions { segment_bytes: 200 }).unwrap();
    let entries = Samples::new(5, Seq(0)).small_entries(60);
    let mut taken = Vec::new();
    for part in entries.chunks(10) {
        let before = journal.head().seq;
        let head = journal.append(Epoch(1), before, part).unwrap();
        let bytes = vec![head.seq.0 as u8; 30].into();
        journal.save_snapshot(&Snapshot { head, bytes }).unwrap();
        // As the host does it: up to the one before the latest.
        journal.truncate_before(before.next()).unwrap();
        taken.push(head);
        let base = journal.base().unwrap();
        let (oldest, mut bytes) = journal.snapshots().open_oldest(base.seq).unwrap().unwrap();
        let mut read = Vec::new();
        std::io::Read::read_to_end(&mut bytes, &mut read).unwrap();
        assert_eq!(read, vec![oldest.seq.0 as u8; 30]);
        assert_eq!(oldest, *taken.iter().find(|head| head.seq >= base.seq).unwrap(), "{base:?}");
        assert_eq!(journal.load_snapshot().unwrap().unwrap().head, head);
        let kept = fs::read_dir(dir.path()).unwrap().filter(|entry| {
            entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("snapshot-")
        });
        assert!(kept.count() <= 2, "two at the most are kept");
    }
    assert!(journal.base().unwrap().seq >= Seq(40), "it was truncated");
}
