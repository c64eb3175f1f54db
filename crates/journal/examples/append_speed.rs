//! What appends cost on this disk: records and jobs (of four events) a second, and latency, for each backend.
//!
//! `cargo run --release -p bellwether-journal --features sqlite --example append_speed -- DIR`

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use bellwether_core::model::Epoch;
use bellwether_journal::conformance::lives::plain_lives;
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{FileJournal, Journal, MemoryJournal, MemoryStore, SqliteJournal};

/// Time for each measurement.
const SPAN: Duration = Duration::from_secs(3);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args().nth(1).ok_or("give a directory on the disk to measure")?;
    let dir = tempfile::tempdir_in(dir)?;
    for jobs in [1, 10, 100, 1_000, 10_000] {
        measure_raw(dir.path(), jobs)?;
        let path = dir.path().join(format!("file-{jobs}"));
        measure("file", jobs, FileJournal::open(&path, FileOptions::default())?)?;
        let path = dir.path().join(format!("sqlite-{jobs}"));
        measure("sqlite", jobs, SqliteJournal::open(&path, SqliteOptions::default())?)?;
        measure("memory", jobs, MemoryJournal::open(&MemoryStore::new())?)?;
    }
    Ok(())
}

fn measure(
    name: &str,
    count: usize,
    mut journal: impl Journal,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut latencies = Vec::new();
    let start = Instant::now();
    let mut spent = Duration::ZERO;
    while spent < SPAN && start.elapsed() < 3 * SPAN {
        let head = journal.head().seq;
        let entries = plain_lives(head, count);
        let append = Instant::now();
        journal.append(Epoch(1), head, &entries)?;
        latencies.push(append.elapsed());
        spent += append.elapsed();
    }
    report(name, count, &mut latencies, spent);
    Ok(())
}

/// The bytes alone, without a journal: what the disk allows.
fn measure_raw(dir: &Path, count: usize) -> Result<(), Box<dyn std::error::Error>> {
    let file = File::create(dir.join(format!("raw-{count}")))?;
    let bytes = vec![1; 326 * count];
    let mut latencies = Vec::new();
    let (start, mut offset) = (Instant::now(), 0);
    while start.elapsed() < SPAN {
        let append = Instant::now();
        file.write_all_at(&bytes, offset)?;
        file.sync_data()?;
        latencies.push(append.elapsed());
        offset += bytes.len() as u64;
    }
    report("raw", count, &mut latencies, start.elapsed());
    Ok(())
}

fn report(name: &str, count: usize, latencies: &mut [Duration], spent: Duration) {
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(latencies.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let records = latencies.len() as f64 / spent.as_secs_f64();
    println!(
        "{name:>7} {count:>6} jobs a record: {records:>8.0} records/s {:>10.0} jobs/s \
         p50 {:>7.3} ms p99 {:>7.3} ms",
        records * count as f64,
        at(50),
        at(99),
    );
}
