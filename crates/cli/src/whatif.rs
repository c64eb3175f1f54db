//! `bellwether whatif`: a recorded journal under another policy or on another fleet.

use bellwether_wire::words::counted;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_core::model::Strategy;
use bellwether_core::model::config::PredictorKind;
use bellwether_sim::trace::{Distribution, Fleet};
use bellwether_sim::whatif::{Change, Column, Recording, Report, what_if};
use clap::Args;

use crate::archive::Backend;
use crate::exit::Verdict;
use crate::output::{self, Table, number, percent};
use crate::progress::Progress;
use crate::simulate::names::parse_word;

/// Replay the recorded jobs under another policy or on another fleet, and compare.
///
/// The jobs arrive when they arrived, depend on what they depended on and take what they took,
/// scaled by how fast the workers proved to be. Shown are the recorded reality, a simulation as it
/// was configured, and one with the change: compare the last two. A scheduler may be running on the
/// journal.
#[derive(Debug, Args)]
#[group(id = "change", multiple = true, required = true, args = ["strategy", "predictor", "fleet"])]
pub(crate) struct Arguments {
    /// Place by this strategy
    #[arg(long, value_parser = parse_word::<Strategy>)]
    strategy: Option<Strategy>,
    /// Predict with this
    #[arg(long, value_parser = parse_word::<PredictorKind>)]
    predictor: Option<PredictorKind>,
    /// On these workers: count x slots @ speed, as in 8x4@1.0,8x2@0.5; speed 1 is the recorded
    /// average
    #[arg(long)]
    fleet: Option<Fleet>,
    /// Where the journal is kept
    #[arg(long, value_name = "DIR", default_value = "data", conflicts_with = "journal")]
    data_dir: PathBuf,
    /// The journal's file instead of its directory
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let dir = match &arguments.journal {
        Some(file) => file.parent().filter(|dir| !dir.as_os_str().is_empty()),
        None => Some(arguments.data_dir.as_path()),
    };
    let dir = dir.unwrap_or(Path::new("."));
    let reader = Backend::of(dir)?.inspect(dir)?;
    let mut progress = Progress::endless("events");
    let recording = Recording::read(reader.as_ref(), |entries| {
        (0..entries).for_each(|_| progress.step("reading"));
    });
    let recording =
        recording.with_context(|| format!("failed to compare the journal in {}", dir.display()))?;
    drop(progress);
    let change = Change {
        strategy: arguments.strategy,
        predictor: arguments.predictor,
        fleet: arguments.fleet,
    };
    let mut progress = Progress::endless("jobs");
    let report = what_if(&recording, &change, || progress.step("simulating"))?;
    drop(progress);
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&readable(&report))?;
    }
    Ok(Verdict::Fine)
}

fn readable(report: &Report) -> String {
    let left_out = report.left_out;
    let others = left_out.unfinished + left_out.not_completed + left_out.submitted_before;
    let mut text = counted(report.jobs as u64, "job");
    if others > 0 {
        text.push_str(&format!(
            "; left out are {} that have not ended, {} that did not complete and {} from before",
            left_out.unfinished, left_out.not_completed, left_out.submitted_before
        ));
    }
    text.push('\n');
    let columns = &report.columns;
    let headings: Vec<String> =
        columns.iter().map(|column| column.name.replace('_', " ")).collect();
    let headings: Vec<&str> =
        std::iter::once("").chain(headings.iter().map(String::as_str)).collect();
    let mut table = Table::new(&headings);
    let mut row = |name: &str, value: &dyn Fn(&Column) -> String| {
        table.row(std::iter::once(name.to_owned()).chain(columns.iter().map(value)).collect());
    };
    row("strategy", &|column| column.strategy.to_owned());
    row("predictor", &|column| column.predictor.to_owned());
    row("workers, slots", &|column| format!("{}, {}", column.workers, column.slots));
    for (name, of) in [
        ("wait", (|column: &Column| column.figures.wait_ms) as fn(&Column) -> Distribution),
        ("response", |column| column.figures.response_ms),
    ] {
        row(&format!("{name} mean ms"), &|column| number(of(column).mean));
        row(&format!("{name} p50 ms"), &|column| number(of(column).p50));
        row(&format!("{name} p99 ms"), &|column| number(of(column).p99));
    }
    row("makespan s", &|column| number(column.figures.makespan_ms / 1e3));
    row("utilization", &|column| percent(column.figures.utilization));
    row("hedges", &|column| column.figures.hedges.to_string());
    row("extra executions", &|column| column.figures.extra_executions.to_string());
    row("extra s", &|column| number(column.figures.extra_seconds));
    text.push_str(&table.render());
    text
}
