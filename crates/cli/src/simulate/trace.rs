//! `bellwether simulate trace`: what each strategy makes of a recorded workload.

use bellwether_wire::words::counted;
use std::path::PathBuf;

use bellwether_core::model::Strategy;
use bellwether_core::model::config::PredictorKind;
use bellwether_sim::trace::{self, Baseline, Fleet, Load, Options, Process, TraceReport};
use clap::{Args, ValueEnum};

use super::names::{parse_load, parse_word};
use crate::exit::Verdict;
use crate::output::{self, Table, number, percent};
use crate::progress::Progress;

/// Run a recorded workload on a fleet and compare strategies.
///
/// A job of duration d takes d / speed; every job takes one slot. Jobs that share a `run` are one
/// DAG: DAGs run one after another on an idle fleet, and what was learnt carries over. The other
/// jobs arrive as a stream.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// JSON lines, gzipped or not
    file: PathBuf,
    /// The workers: count x slots @ speed, as in 8x4@1.0,8x2@0.5
    #[arg(long)]
    fleet: Fleet,
    /// Scale the arrivals to this share of the fleet's capacity; the trace's own times if not given
    #[arg(long, value_parser = parse_load)]
    load: Option<Load>,
    /// Keep the recorded pattern of arrivals, or redraw it
    #[arg(long, value_enum, default_value_t = Arrivals::Trace)]
    arrivals: Arrivals,
    /// Of the redrawn arrivals, and of what workers measure
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Whether workers say how fast they are when they join
    #[arg(long, value_enum, default_value_t = Speeds::Measured)]
    speeds: Speeds,
    /// What the engine places by
    #[arg(long, value_parser = parse_word::<Strategy>, default_value = "predictive")]
    strategy: Strategy,
    /// What the engine predicts with
    #[arg(long, value_parser = parse_word::<PredictorKind>, default_value = "auto")]
    predictor: PredictorKind,
    /// Plain schedulers to compare with: fifo, round_robin, least_loaded
    #[arg(long, value_parser = parse_word::<Baseline>, value_delimiter = ',')]
    compare: Vec<Baseline>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Arrivals {
    /// As recorded
    Trace,
    /// A Poisson process; the order of the jobs stays
    Poisson,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Speeds {
    /// They have measured it, and are off by up to a tenth
    Measured,
    /// They say nothing: the scheduler has to find out
    Hidden,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let jobs = trace::reader::read(&arguments.file)?;
    let options = Options {
        fleet: match arguments.speeds {
            Speeds::Measured => arguments.fleet.measured(arguments.seed),
            Speeds::Hidden => arguments.fleet,
        },
        load: arguments.load,
        process: match arguments.arrivals {
            Arrivals::Trace => Process::Trace,
            Arrivals::Poisson => Process::Poisson { seed: arguments.seed },
        },
        strategy: arguments.strategy,
        predictor: arguments.predictor,
        compare: arguments.compare,
    };
    let steps = jobs.len() * (1 + options.compare.len());
    let mut progress = Progress::new(steps as u64, "jobs");
    let report = trace::simulate(&jobs, &options, |strategy| progress.step(strategy))?;
    drop(progress);
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&readable(&report))?;
    }
    Ok(Verdict::Fine)
}

fn readable(report: &TraceReport) -> String {
    let mut headings = vec![""];
    headings.extend(report.strategies.iter().map(|(name, _)| name));
    let mut table = Table::new(&headings);
    let mut row = |name: &str, show: &dyn Fn(&trace::StrategyReport) -> String| {
        let mut cells = vec![name.to_owned()];
        cells.extend(report.strategies.iter().map(|(_, report)| show(report)));
        table.row(cells);
    };
    row("makespan s", &|r| number(r.makespan_ms / 1_000.0));
    row("makespan / bound, mean", &|r| number(r.makespan_ratio_mean));
    row("makespan / plain bound", &|r| number(r.makespan_ratio_plain_mean));
    row("makespan / bound, p95", &|r| number(r.makespan_ratio_p95));
    row("wait s, mean", &|r| number(r.wait_ms.mean / 1_000.0));
    row("wait s, p50", &|r| number(r.wait_ms.p50 / 1_000.0));
    row("wait s, p99", &|r| number(r.wait_ms.p99 / 1_000.0));
    row("slowdown, mean", &|r| number(r.slowdown.mean));
    row("slowdown, p50", &|r| number(r.slowdown.p50));
    row("slowdown, p99", &|r| number(r.slowdown.p99));
    row("response s, mean", &|r| number(r.response_ms.mean / 1_000.0));
    row("response s, p50", &|r| number(r.response_ms.p50 / 1_000.0));
    row("response s, p99", &|r| number(r.response_ms.p99 / 1_000.0));
    row("utilization, mean", &|r| percent(r.utilization.mean));
    row("utilization, spread", &|r| percent(r.utilization.spread));
    row("predicted within 25%", &|r| r.within_25_percent.map_or_else(|| "-".to_owned(), percent));
    row("hedges", &|r| r.hedges.to_string());
    row("duplicates", &|r| r.duplicates.to_string());
    let (jobs, runs) = (counted(report.jobs as u64, "job"), counted(report.runs as u64, "run"));
    format!("{jobs}, {runs}\n\n{}", table.render())
}
