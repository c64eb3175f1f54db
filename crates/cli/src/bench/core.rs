//! `bellwether bench core`: the engine alone, on one thread.

use clap::Args;

use super::core_run::{self, CoreReport, Load};
use crate::exit::Verdict;
use crate::output::{self, Table, number};
use crate::progress::Progress;

/// Measure the engine on one thread, without I/O: submit, assign, acknowledge, complete, with
/// every event encoded and hash-chained.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Workers, four slots each
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    workers: u32,
    /// Jobs that wait in the queue all the time
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(0..=20_000_000))]
    waiting: u64,
    /// Jobs to measure
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    jobs: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let load =
        Load { workers: arguments.workers, waiting: arguments.waiting, jobs: arguments.jobs };
    let mut progress = Progress::new(arguments.waiting + arguments.jobs, "jobs");
    let report = core_run::measure(load, |stage| progress.step(stage))?;
    drop(progress);
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&readable(&report))?;
    }
    Ok(Verdict::Fine)
}

fn readable(report: &CoreReport) -> String {
    let mut table = Table::new(&["", "measured"]);
    let mut row = |name: &str, value: String| table.row(vec![name.to_owned(), value]);
    row("jobs/s", number(report.jobs_per_s));
    row("decision ns, p50", report.decision_ns.p50.to_string());
    row("decision ns, p99", report.decision_ns.p99.to_string());
    row("bytes per waiting job", number(report.bytes_per_waiting_job));
    let nanos = &report.nanos_per_job;
    row("ns per job, submit", number(nanos.submit));
    row("ns per job, acknowledge", number(nanos.acknowledge));
    row("ns per job, complete and assign", number(nanos.complete));
    row("ns per job, encode and hash", number(nanos.journal));
    row("ns per job, release effects", number(nanos.release));
    format!("{}\nlimited by: {}\n", table.render(), nanos.largest())
}
