//! The SQLite journal keeps every promise of the trait, and notices every damage.
#![cfg(feature = "sqlite")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::conformance::{self, Bed, samples::Samples};
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{AppendError, Flaw, Head, Journal, OpenError, SqliteJournal};
use bellwether_testbed::SmallDisk;
use support::{DISK_BYTES, copy_of, fill_but, memory_dir};
use tempfile::TempDir;

mod support;

const SMALL: SqliteOptions = SqliteOptions { page_bytes: 512, checkpoint_pages: 1_000 };

struct SqliteBed(TempDir);

impl Bed for SqliteBed {
    fn open(&mut self) -> Box<dyn Journal> {
        Box::new(SqliteJournal::open(self.0.path(), SqliteOptions::default()).unwrap())
    }

    fn opens_twice(&self) -> bool {
        false
    }
}

#[test]
fn conforms() {
    conformance::run(|| SqliteBed(memory_dir()));
}

#[test]
fn second_scheduler_is_refused_with_the_holder_named() {
    let dir = memory_dir();
    let _first = SqliteJournal::open(dir.path(), SMALL).unwrap();
    let error = SqliteJournal::open(dir.path(), SMALL).unwrap_err();
    let OpenError::Locked { holder, .. } = &error else { panic!("{error}") };
    assert_eq!(holder, &std::process::id().to_string());
}

#[test]
fn newer_reign_fences_even_where_the_lock_does_not_hold() {
    let dir = memory_dir();
    let entries = Samples::new(1, Seq(0)).entries(4);
    let mut older = SqliteJournal::open(dir.path(), SMALL).unwrap();
    older.append(Epoch(1), Seq(0), &entries[..2]).unwrap();
    // As if on a file system without locks.
    fs::remove_file(dir.path().join("lock")).unwrap();
    let mut newer = SqliteJournal::open(dir.path(), SMALL).unwrap();
    let error = older.append(Epoch(1), Seq(2), &entries[2..]).unwrap_err();
    assert!(error.to_string().contains("taken over"), "{error}");
    newer.append(Epoch(2), Seq(2), &entries[2..]).unwrap();
    assert_eq!(conformance::read_all(&newer, Seq(1)), entries);
}

#[test]
fn inspection_changes_nothing_and_sees_everything() {
    let dir = memory_dir();
    let entries = Samples::new(1, Seq(0)).entries(9);
    let mut journal = SqliteJournal::open(dir.path(), SMALL).unwrap();
    journal.append(Epoch(1), Seq(0), &entries).unwrap();
    let reader = SqliteJournal::inspect(dir.path()).unwrap();
    assert_eq!(conformance::read_all(reader.as_ref(), Seq(1)), entries);
    drop(journal);
    let reader = SqliteJournal::inspect(dir.path()).unwrap();
    assert_eq!(conformance::read_all(reader.as_ref(), Seq(1)), entries);
    assert_eq!(SqliteJournal::open(dir.path(), SMALL).unwrap().epoch(), Epoch(2));
}

#[test]
fn flipped_byte_of_the_log_is_never_silent() {
    let dir = memory_dir();
    let entries = write(dir.path(), 5);
    flip_every_byte(dir.path(), "journal.sqlite-wal", &entries);
}

#[test]
fn flipped_byte_of_the_database_is_never_silent() {
    let dir = memory_dir();
    let entries = write(dir.path(), 5);
    // Reopened and read by others, so that the log is copied into the database.
    rusqlite::Connection::open(dir.path().join("journal.sqlite"))
        .unwrap()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    flip_every_byte(dir.path(), "journal.sqlite", &entries);
}

#[test]
fn flipped_byte_of_the_witness_harms_nothing() {
    let dir = memory_dir();
    let entries = write(dir.path(), 5);
    let outcomes = flip_every_byte(dir.path(), "head", &entries);
    assert_eq!(outcomes.refused, 0);
}

#[test]
fn torn_commit_that_was_never_acknowledged_is_cut_at_every_byte() {
    let dir = memory_dir();
    let entries = write(dir.path(), 4);
    let before = fs::read(dir.path().join("journal.sqlite-wal")).unwrap();
    let mut journal = SqliteJournal::open(dir.path(), SMALL).unwrap();
    let acknowledged = fs::read(dir.path().join("head")).unwrap();
    let after_open = fs::read(dir.path().join("journal.sqlite-wal")).unwrap();
    assert!(after_open.len() >= before.len());
    let more = Samples::new(9, journal.head().seq).entries(3);
    journal.append(journal.epoch(), journal.head().seq, &more).unwrap();
    drop(journal);
    let written = fs::read(dir.path().join("journal.sqlite-wal")).unwrap();
    for length in after_open.len()..=written.len() {
        let copy = copy_of(dir.path());
        fs::write(copy.path().join("journal.sqlite-wal"), &written[..length]).unwrap();
        fs::write(copy.path().join("head"), &acknowledged).unwrap();
        let journal = SqliteJournal::open(copy.path(), SMALL).unwrap();
        let read = conformance::read_all(&journal, Seq(1));
        if length < written.len() {
            assert_eq!(read, entries, "cut at {length}");
        } else {
            assert_eq!(read.len(), entries.len() + more.len());
        }
    }
}

#[test]
fn acknowledged_record_that_is_gone_is_reported_with_its_position() {
    let dir = memory_dir();
    write(dir.path(), 5);
    let wal = dir.path().join("journal.sqlite-wal");
    let bytes = fs::read(&wal).unwrap();
    fs::write(&wal, &bytes[..bytes.len() - 10]).unwrap();
    let error = SqliteJournal::open(dir.path(), SMALL).unwrap_err();
    let OpenError::Damaged(damage) = &error else { panic!("{error}") };
    assert_eq!(damage.flaw, Flaw::Lost { acknowledged: Seq(15) });
    assert_eq!(damage.at, Seq(13));
    assert_eq!(fs::read(&wal).unwrap(), &bytes[..bytes.len() - 10], "the evidence stays");
}

#[test]
fn full_disk_refuses_and_recovers() {
    let Some(disk) = SmallDisk::mount(DISK_BYTES) else { return };
    let dir = disk.path().join("data");
    let mut journal = SqliteJournal::open(&dir, SqliteOptions::default()).unwrap();
    let entries = Samples::new(3, Seq(0)).entries(4_000);
    let filler = fill_but(&disk, 200 << 10);
    let mut rest = entries.chunks(10);
    let refused = loop {
        let part = rest.next().unwrap();
        match journal.append(Epoch(1), journal.head().seq, part) {
            Ok(_) => {}
            Err(AppendError::Full) => break part,
            Err(error) => panic!("{error}"),
        }
    };
    let kept = (refused[0].seq.0 - 1) as usize;
    assert_eq!(conformance::read_all(&journal, Seq(1)), entries[..kept]);
    fs::remove_file(filler).unwrap();
    journal.append(Epoch(1), journal.head().seq, refused).unwrap();
    drop(journal);
    let journal = SqliteJournal::open(&dir, SqliteOptions::default()).unwrap();
    assert_eq!(conformance::read_all(&journal, Seq(1)), entries[..kept + 10]);
}

struct Outcomes {
    refused: usize,
}

/// Opens a copy with each byte of the file flipped: refused, or everything is still there.
fn flip_every_byte(dir: &Path, file: &str, entries: &[Entry]) -> Outcomes {
    let bytes = fs::read(dir.join(file)).unwrap();
    let mut outcomes = Outcomes { refused: 0 };
    for position in 0..bytes.len() {
        let copy = copy_of(dir);
        let mut flipped = bytes.clone();
        flipped[position] ^= 1 << (position % 8);
        fs::write(copy.path().join(file), flipped).unwrap();
        match SqliteJournal::open(copy.path(), SMALL) {
            Ok(journal) => {
                let read = conformance::read_all(&journal, Seq(1));
                assert_eq!(read, entries, "silent after a flip at {position} of {file}");
            }
            // Some bytes of the header make SQLite take the file for one it may not write.
            Err(OpenError::Damaged(_) | OpenError::Io(_)) => outcomes.refused += 1,
            Err(error) => panic!("a flip at {position} of {file} is no damage but: {error}"),
        }
    }
    outcomes
}

/// A journal of this many records of three entries.
fn write(dir: &Path, records: usize) -> Vec<Entry> {
    let mut samples = Samples::new(3, Seq(0));
    let mut journal = SqliteJournal::open(dir, SMALL).unwrap();
    let mut entries = Vec::new();
    for _ in 0..records {
        let record = samples.small_entries(3);
        let Head { seq, .. } = journal.head();
        journal.append(journal.epoch(), seq, &record).unwrap();
        entries.extend(record);
    }
    entries
}
