//! The journal in plain files keeps every promise of the trait, and notices every damage.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use bellwether_core::Entry;
use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::conformance::{self, Bed, samples::Samples};
use bellwether_journal::file::FileOptions;
use bellwether_journal::{AppendError, FileJournal, Flaw, Head, Journal, OpenError};
use bellwether_testbed::SmallDisk;
use support::{DISK_BYTES, copy_of, fill_but, memory_dir};
use tempfile::TempDir;

mod support;

const SMALL: FileOptions = FileOptions { segment_bytes: 1_000 };
const ONE: &str = "journal-00000000000000000000.log";

struct FileBed(TempDir, FileOptions);

impl Bed for FileBed {
    fn open(&mut self) -> Box<dyn Journal> {
        Box::new(FileJournal::open(self.0.path(), self.1).unwrap())
    }

    fn opens_twice(&self) -> bool {
        false
    }
}

#[test]
fn conforms() {
    conformance::run(|| FileBed(memory_dir(), FileOptions::default()));
}

#[test]
fn conforms_with_a_segment_for_almost_every_record() {
    conformance::run(|| FileBed(memory_dir(), FileOptions { segment_bytes: 200 }));
}

#[test]
fn second_scheduler_is_refused_with_the_holder_named() {
    let dir = memory_dir();
    let _first = FileJournal::open(dir.path(), SMALL).unwrap();
    let error = FileJournal::open(dir.path(), SMALL).unwrap_err();
    let OpenError::Locked { holder, .. } = &error else { panic!("{error}") };
    assert_eq!(holder, &std::process::id().to_string());
}

#[test]
fn newer_reign_fences_even_where_the_lock_does_not_hold() {
    let dir = memory_dir();
    let entries = Samples::new(1, Seq(0)).entries(4);
    let mut older = FileJournal::open(dir.path(), SMALL).unwrap();
    older.append(Epoch(1), Seq(0), &entries[..2]).unwrap();
    // As if on a file system without locks.
    fs::remove_file(dir.path().join("lock")).unwrap();
    let mut newer = FileJournal::open(dir.path(), SMALL).unwrap();
    let error = older.append(Epoch(1), Seq(2), &entries[2..]).unwrap_err();
    assert!(matches!(error, AppendError::Fenced { current: Epoch(2) }), "{error}");
    newer.append(Epoch(2), Seq(2), &entries[2..]).unwrap();
    assert_eq!(conformance::read_all(&newer, Seq(1)), entries);
}

#[test]
fn inspection_changes_nothing_and_sees_everything() {
    let dir = memory_dir();
    let entries = write(dir.path(), 5);
    let reader = FileJournal::inspect(dir.path()).unwrap();
    assert_eq!(conformance::read_all(reader.as_ref(), Seq(1)), entries);
    assert_eq!(FileJournal::open(dir.path(), SMALL).unwrap().epoch(), Epoch(2));
}

#[test]
fn flipped_byte_is_never_silent_in_any_file() {
    let dir = memory_dir();
    let entries = write(dir.path(), 12);
    let mut segments = 0;
    for entry in fs::read_dir(dir.path()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let refused = flip_every_byte(dir.path(), &name, &entries);
        if name.starts_with("journal") {
            assert!(refused > 100, "{refused} in {name}");
            segments += 1;
        }
    }
    assert!(segments > 1);
}

#[test]
fn torn_record_that_was_never_acknowledged_is_cut_at_every_byte() {
    let dir = memory_dir();
    let options = FileOptions { segment_bytes: 4_000 };
    let mut journal = FileJournal::open(dir.path(), options).unwrap();
    let entries = Samples::new(3, Seq(0)).small_entries(9);
    journal.append(Epoch(1), Seq(0), &entries[..6]).unwrap();
    let acknowledged = fs::read(dir.path().join("head")).unwrap();
    let before = fs::read(dir.path().join(ONE)).unwrap();
    journal.append(Epoch(1), Seq(6), &entries[6..]).unwrap();
    drop(journal);
    let after = fs::read(dir.path().join(ONE)).unwrap();
    let start = before.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let end = after.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for cut in start..=end {
        let zeroed = [&after[..cut], &before[cut..]].concat();
        for torn in [&zeroed, &after[..cut]] {
            let copy = copy_of(dir.path());
            fs::write(copy.path().join(ONE), torn).unwrap();
            fs::write(copy.path().join("head"), &acknowledged).unwrap();
            let mut journal = FileJournal::open(copy.path(), options).unwrap();
            if cut < end {
                assert_eq!(conformance::read_all(&journal, Seq(1)), entries[..6], "cut at {cut}");
                journal.append(Epoch(2), Seq(6), &entries[6..]).unwrap();
                drop(journal);
                journal = FileJournal::open(copy.path(), options).unwrap();
            }
            assert_eq!(conformance::read_all(&journal, Seq(1)), entries, "cut at {cut}");
        }
    }
}

#[test]
fn acknowledged_record_that_is_gone_is_reported_with_its_position() {
    let dir = memory_dir();
    write(dir.path(), 2);
    let segment = dir.path().join(ONE);
    let bytes = fs::read(&segment).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    fs::write(&segment, &bytes[..end]).unwrap();
    let error = FileJournal::open(dir.path(), SMALL).unwrap_err();
    let OpenError::Damaged(damage) = &error else { panic!("{error}") };
    assert_eq!(damage.flaw, Flaw::Lost { acknowledged: Seq(6) });
    assert_eq!(damage.at, Seq(4));
    assert_eq!(fs::read(&segment).unwrap(), &bytes[..end], "the evidence stays");
}

#[test]
fn missing_segment_is_reported() {
    let dir = memory_dir();
    write(dir.path(), 20);
    let mut segments: Vec<_> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
        .collect();
    segments.sort();
    assert!(segments.len() >= 3);
    for segment in &segments[1..] {
        let copy = copy_of(dir.path());
        fs::remove_file(copy.path().join(segment.file_name().unwrap())).unwrap();
        let error = FileJournal::open(copy.path(), SMALL).unwrap_err();
        assert!(matches!(error, OpenError::Damaged(_)), "{error}");
    }
}

#[test]
fn full_disk_refuses_and_recovers() {
    let Some(disk) = SmallDisk::mount(DISK_BYTES) else { return };
    let dir = disk.path().join("data");
    let options = FileOptions { segment_bytes: 64 << 10 };
    let mut journal = FileJournal::open(&dir, options).unwrap();
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
    let journal = FileJournal::open(&dir, options).unwrap();
    assert_eq!(conformance::read_all(&journal, Seq(1)), entries[..kept + 10]);
}

/// Opens a copy with each byte of the file flipped: refused, or everything is still there.
fn flip_every_byte(dir: &Path, file: &str, entries: &[Entry]) -> usize {
    let bytes = fs::read(dir.join(file)).unwrap();
    let mut refused = 0;
    for position in 0..bytes.len() {
        let copy = copy_of(dir);
        let mut flipped = bytes.clone();
        flipped[position] ^= 1 << (position % 8);
        fs::write(copy.path().join(file), flipped).unwrap();
        match FileJournal::open(copy.path(), SMALL) {
            Ok(journal) => {
                let read = conformance::read_all(&journal, Seq(1));
                assert_eq!(read, entries, "silent after a flip at {position} of {file}");
                assert_eq!(journal.epoch(), Epoch(2), "after a flip at {position} of {file}");
            }
            Err(OpenError::Damaged(_)) => refused += 1,
            Err(error) => panic!("a flip at {position} of {file} is no damage but: {error}"),
        }
    }
    refused
}

/// A journal of this many records of three entries.
fn write(dir: &Path, records: usize) -> Vec<Entry> {
    let mut samples = Samples::new(3, Seq(0));
    let mut journal = FileJournal::open(dir, SMALL).unwrap();
    let mut entries = Vec::new();
    for _ in 0..records {
        let record = samples.small_entries(3);
        let Head { seq, .. } = journal.head();
        journal.append(journal.epoch(), seq, &record).unwrap();
        entries.extend(record);
    }
    entries
}
