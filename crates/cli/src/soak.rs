//! `bellwether soak`: does it last?

use bellwether_bench::soak::{self, Minute};
use clap::Args;

use crate::exit::Verdict;
use crate::output::{self, number};
use crate::{memory, runtime};

/// Run a scheduler and workers of its own under load, break them, check from outside that every
/// promise is kept, and say each minute how it goes.
///
/// Exits with 1 on loss, growth or lag, and says of what.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: soak::Options,
    /// Print JSON: a line for each minute, then the verdict
    #[arg(long)]
    json: bool,
}

/// A worker of the soak, which ends when its input does.
#[derive(Debug, Args)]
pub(crate) struct WorkerArguments {
    #[arg(long)]
    server: String,
    #[arg(long)]
    id: String,
    #[arg(long)]
    slots: u32,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    memory::in_small_pages();
    let json = arguments.json;
    if !json {
        let headings: Vec<_> = Minute::HEADINGS.iter().map(|name| (*name).to_owned()).collect();
        output::print(&line(&headings))?;
    }
    let runtime = runtime::start()?;
    let told = |minute: &Minute| match json {
        true => output::print_json(minute),
        false => Ok(output::print(&line(&minute.values().map(shown)))?),
    };
    let report = runtime.block_on(soak::run(&arguments.options, told));
    // Connections that are still open have nothing left to say.
    runtime.shutdown_background();
    let report = report?;
    match json {
        true => output::print_json(&report)?,
        false => output::print(&report.closing())?,
    }
    Ok(if report.broken.is_empty() { Verdict::Fine } else { Verdict::CheckFailed })
}

pub(crate) fn work(arguments: &WorkerArguments) -> anyhow::Result<Verdict> {
    let runtime = runtime::start()?;
    let WorkerArguments { server, id, slots } = arguments;
    let worked = runtime.block_on(soak::work(server, id, *slots));
    // Whoever reads its input can't be waited for.
    runtime.shutdown_background();
    worked.map(|()| Verdict::Fine)
}

fn shown(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { number(value) }
}

/// As wide as the headings, so that lines can be told one by one.
fn line(cells: &[String]) -> String {
    let wide =
        |(cell, heading): (&String, &str)| format!("{cell:>width$}", width = heading.len().max(7));
    let cells: Vec<_> = cells.iter().zip(Minute::HEADINGS).map(wide).collect();
    format!("{}\n", cells.join("  "))
}
