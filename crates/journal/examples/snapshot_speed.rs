//! What a snapshot of a full queue costs: CPU time to write it, to open it and to hash the state.
//!
//! `cargo run --release -p bellwether-journal --example snapshot_speed`

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use bellwether_core::model::{Config, JobId, JobSpec, Name, Submission, Timestamp};
use bellwether_core::{Command, Engine};
use bellwether_journal::state;

const JOBS: u64 = 1_000_000;
const PAYLOAD_BYTES: usize = 100;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut engine = Engine::new(Config::default());
    for number in 0..JOBS {
        let mut job = JobSpec::new(JobId::new(&format!("job-{number}"))?, Name::fixed("resize"));
        job.payload = vec![b'x'; PAYLOAD_BYTES].into();
        engine.handle(Timestamp(number), Command::Submit(Submission::one(job))).result?;
        engine.take_batch();
    }
    for _ in 0..3 {
        let start = cpu_nanos()?;
        let bytes = state::encode(engine.state());
        let written = cpu_nanos()?;
        let opened = state::decode(&bytes)?;
        let read = cpu_nanos()?;
        let same = state::hash(opened.state()) == state::hash(engine.state());
        let hashed = cpu_nanos()?;
        println!(
            "{JOBS} jobs in {} MB: written in {} ms, opened in {} ms, hashed in {} ms, same: {same}",
            bytes.len() / 1_000_000,
            (written - start) / 1_000_000,
            (read - written) / 1_000_000,
            (hashed - read) / 2_000_000,
        );
    }
    Ok(())
}

/// Of this thread, so that others on the machine do not count.
fn cpu_nanos() -> Result<u64, Failure> {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(statistics.split(' ').next().ok_or("no statistics of this thread")?.parse()?)
}
