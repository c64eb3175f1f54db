//! What recording costs: nanoseconds an event for the four events of a plain job's life.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::hint::black_box;

use bellwether_core::model::Epoch;
use bellwether_journal::conformance::lives::plain_lives;
use bellwether_journal::{Head, Recorder};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for batch_jobs in [1, 10, 100, 1_000, 10_000] {
        let entries = plain_lives(Head::GENESIS.seq, batch_jobs);
        let rounds = 400_000 / batch_jobs;
        let mut recorder = Recorder::new(Head::GENESIS);
        let bytes = recorder.draft(Epoch(1), &entries).bytes.len();
        let start = cpu_nanos()?;
        for _ in 0..rounds {
            black_box(recorder.draft(Epoch(1), black_box(&entries)).head);
        }
        let events = (rounds * entries.len()) as f64;
        println!(
            "{batch_jobs:>6} jobs a record: {:>6.1} ns an event, {:>4} bytes a job",
            (cpu_nanos()? - start) as f64 / events,
            bytes / batch_jobs,
        );
    }
    Ok(())
}

/// Of this thread, so that others on the machine do not count.
fn cpu_nanos() -> Result<u64, Box<dyn std::error::Error>> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split(' ').next().ok_or("no statistics of this thread")?.parse()?)
}
