//! `bellwether bench`: how fast it is here.

use bellwether_bench::{
    Sheet, core, end_to_end, failover, followers, history, output as printing, queue, sinks, trust,
};
use bellwether_server::descriptors;
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::exit::Verdict;
use crate::output::{self, Table, number};
use crate::progress::Progress;
use crate::{memory, runtime};

/// Measure how fast the scheduler is on this machine: submitter, scheduler and workers together,
/// with a sync at every commit. Latencies count from when a job was to be sent.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    queue: queue::Options,
    #[command(flatten)]
    end_to_end: end_to_end::Options,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    Core(core::Options),
    Sinks(sinks::Options),
    Trust(trust::Options),
    Output(printing::Options),
    Followers(followers::Options),
    History(history::Options),
    Failover(failover::Options),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    memory::in_small_pages();
    // Every worker has a connection.
    descriptors::raise_limit();
    let json = arguments.json;
    match arguments.command {
        Some(Command::Core(options)) => {
            let mut progress = Progress::new(options.waiting + options.jobs, "jobs");
            let report = core::measure(options, |stage| progress.step(stage))?;
            drop(progress);
            print(json, &report, || report.sheet())
        }
        Some(Command::Sinks(options)) => {
            let report = block_on(sinks::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        Some(Command::Trust(options)) => {
            let report = block_on(trust::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        Some(Command::Output(options)) => {
            let report = block_on(printing::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        Some(Command::Followers(options)) => {
            let report = block_on(followers::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        Some(Command::History(options)) => {
            let report = block_on(history::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        Some(Command::Failover(options)) => {
            let report = block_on(failover::measure(&options))?;
            print(json, &report, || report.sheet())
        }
        None if arguments.queue.queue.is_empty() => {
            let report = block_on(end_to_end::measure(&arguments.end_to_end))?;
            print(json, &report, || report.sheet())
        }
        None => {
            let options = arguments.queue;
            let progress = Progress::new(options.steps(), "measurements");
            let mut done = 0;
            let step = || {
                done += 1;
                progress.reached(done);
            };
            let rows = block_on(queue::measure(&options, &arguments.end_to_end, step))?;
            drop(progress);
            print(json, &rows, || queue::sheet(&rows, options.rounds))
        }
    }
}

fn block_on<T>(measure: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = runtime::start()?;
    let measured = runtime.block_on(measure);
    // Connections that are still open have nothing left to say.
    runtime.shutdown_background();
    measured
}

fn print(
    json: bool,
    report: &impl Serialize,
    sheet: impl FnOnce() -> Sheet,
) -> anyhow::Result<Verdict> {
    if json {
        output::print_json(report)?;
        return Ok(Verdict::Fine);
    }
    let sheet = sheet();
    let mut table = Table::new(&sheet.headings);
    for (name, values) in sheet.rows {
        let values = values.into_iter().map(|value| value.map_or_else(String::new, number));
        table.row(std::iter::once(name).chain(values).collect());
    }
    output::print(&format!("{}{}", table.render(), sheet.closing))?;
    Ok(Verdict::Fine)
}
