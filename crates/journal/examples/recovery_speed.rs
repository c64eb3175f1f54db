//! What recovery costs: CPU time to open a journal of plain jobs (all of it verified), and to read
//! all of its entries.
//!
//! `cargo run --release -p bellwether-journal --features sqlite --example recovery_speed -- DIR`

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::Path;

use bellwether_core::model::Seq;
use bellwether_journal::conformance::lives::plain_lives;
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{FileJournal, Journal, OpenError, SqliteJournal};

const JOBS: usize = 100_000;
const JOBS_A_RECORD: usize = 500;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let dir = std::env::args().nth(1).ok_or("give a directory on the disk to measure")?;
    let dir = tempfile::tempdir_in(dir)?;
    measure("file", &dir.path().join("file"), |path| {
        Ok(Box::new(FileJournal::open(path, FileOptions::default())?))
    })?;
    measure("sqlite", &dir.path().join("sqlite"), |path| {
        Ok(Box::new(SqliteJournal::open(path, SqliteOptions::default())?))
    })
}

fn measure(
    name: &str,
    path: &Path,
    open: impl Fn(&Path) -> Result<Box<dyn Journal>, OpenError>,
) -> Result<(), Failure> {
    let mut journal = open(path)?;
    for _ in 0..JOBS / JOBS_A_RECORD {
        let head = journal.head().seq;
        journal.append(journal.epoch(), head, &plain_lives(head, JOBS_A_RECORD))?;
    }
    drop(journal);

    let start = cpu_nanos()?;
    let journal = open(path)?;
    let opened = cpu_nanos()?;
    let mut events = 0;
    for record in journal.read(Seq(1))? {
        events += record?.entries.len();
    }
    let read = cpu_nanos()?;
    println!(
        "{name:>7}: {events} events opened in {} ms, read in {} ms",
        (opened - start) / 1_000_000,
        (read - opened) / 1_000_000,
    );
    Ok(())
}

/// Of this thread, so that others on the machine do not count.
fn cpu_nanos() -> Result<u64, Failure> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split(' ').next().ok_or("no statistics of this thread")?.parse()?)
}
