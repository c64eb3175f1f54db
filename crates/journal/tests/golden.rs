//! A journal of the first format, kept for ever: what was written once must always be readable.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::file::FileOptions;
use bellwether_journal::{FileJournal, Head, Journal, Reader, Recorder};
use expect_test::expect;

/// Records longer than this are left out, so that the file stays small.
const RECORD_BYTES_MAX: usize = 2_500;
const SEGMENT: &str = "journal-00000000000000000000.log";

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1.journal")
}

fn opened() -> (tempfile::TempDir, Box<dyn Reader>) {
    let dir = tempfile::tempdir().expect("there is a place for temporary files");
    fs::copy(golden(), dir.path().join(SEGMENT)).expect("the golden journal is there");
    let reader = FileJournal::inspect(dir.path()).expect("the golden journal is sound");
    (dir, reader)
}

#[test]
fn first_format_verifies_to_the_same_chain() {
    let (_dir, reader) = opened();
    let records: Vec<_> = reader.read(Seq(1)).unwrap().map(|record| record.unwrap()).collect();
    let head = records.last().unwrap().head();
    expect!["12 records to 384: b83a2d2e8c1346f1ddf927d9ccc531482999db08144619fa9b8a94d7fcea9a05"]
        .assert_eq(&format!("{} records to {}: {}", records.len(), head.seq, head.chain));
}

#[test]
fn first_format_decodes_to_all_that_it_says() {
    let (_dir, reader) = opened();
    let mut kinds = BTreeSet::new();
    for record in reader.read(Seq(1)).unwrap() {
        let record = record.unwrap();
        kinds.extend(record.entries.iter().map(|entry| entry.event.name()));
        // Nothing is lost in reading: written again, it gives the same hash.
        let prior = Head { seq: Seq(record.first().0 - 1), chain: record.prior };
        let again = Recorder::new(prior).record(record.epoch, &record.entries);
        assert_eq!(again, record.head());
    }
    expect!["33 kinds"].assert_eq(&format!("{} kinds", kinds.len()));
}

/// Run once for each format, never again for an old one.
#[test]
#[ignore = "writes the golden journal"]
fn write_the_golden_journal() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = FileJournal::open(dir.path(), FileOptions::default()).unwrap();
    for seed in 0..16 {
        let head = journal.head();
        let entries = Samples::new(seed, head.seq).every_kind();
        if Recorder::new(head).draft(Epoch(1), &entries).bytes.len() <= RECORD_BYTES_MAX {
            journal.append(Epoch(1), head.seq, &entries).unwrap();
        }
    }
    drop(journal);
    let bytes = fs::read(dir.path().join(SEGMENT)).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    fs::write(golden(), &bytes[..end]).unwrap();
}
