//! `bellwether simulate faults`: does the scheduler keep its promises when everything fails?

use bellwether_wire::words::counted;
use std::collections::BTreeMap;

use bellwether_sim::faults::{FaultOptions, FaultReport, Schedulers, run_many};
use clap::Args;
use serde::Serialize;

use crate::exit::Verdict;
use crate::output::{self, Table, number};
use crate::progress::Progress;

/// Run the scheduler against seeded faults and check every invariant after every step.
///
/// Exits with 1 if an invariant was violated. A seed replays its run exactly.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    seeds: Seeds,
}

// Without a text of its own: it would be taken for that of the command.
#[derive(Debug, Args)]
pub(super) struct Seeds {
    /// How many seeds to run
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    simulate(&arguments.seeds, Schedulers::One, "faults")
}

/// `command` replays a violation.
pub(super) fn simulate(
    arguments: &Seeds,
    schedulers: Schedulers,
    command: &str,
) -> anyhow::Result<Verdict> {
    let progress = Progress::new(arguments.seeds, "seeds");
    let report = run_many(&FaultOptions {
        schedulers,
        seeds: arguments.seeds,
        first_seed: arguments.seed,
        progress: Some(&|done| progress.reached(done)),
        ..FaultOptions::default()
    });
    drop(progress);
    if arguments.json {
        output::print_json(&Shown::of(&report))?;
    } else {
        output::print(&readable(&report, command))?;
    }
    Ok(if report.violations.is_empty() { Verdict::Fine } else { Verdict::CheckFailed })
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    seeds: u64,
    sim_hours: f64,
    steps: u64,
    faults: &'a BTreeMap<&'static str, u64>,
    violations: Vec<ShownViolation<'a>>,
    final_hash: String,
}

#[derive(Debug, Serialize)]
struct ShownViolation<'a> {
    seed: u64,
    invariant: &'static str,
    step: u64,
    detail: &'a str,
}

impl<'a> Shown<'a> {
    fn of(report: &'a FaultReport) -> Shown<'a> {
        let violations = report.violations.iter().map(|violation| ShownViolation {
            seed: violation.seed,
            invariant: violation.invariant,
            step: violation.step,
            detail: &violation.detail,
        });
        Shown {
            seeds: report.seeds,
            sim_hours: report.sim_hours,
            steps: report.steps,
            faults: &report.faults,
            violations: violations.collect(),
            final_hash: blake3::Hash::from_bytes(report.final_hash).to_string(),
        }
    }
}

fn readable(report: &FaultReport, command: &str) -> String {
    let mut table = Table::new(&["fault", "times"]);
    for (kind, times) in &report.faults {
        table.row(vec![(*kind).to_owned(), times.to_string()]);
    }
    let mut text = format!(
        "{}, {}, {} simulated hours\n\n{}\nfinal hash {}\n",
        counted(report.seeds, "seed"),
        counted(report.steps, "step"),
        number(report.sim_hours),
        table.render(),
        blake3::Hash::from_bytes(report.final_hash),
    );
    for violation in &report.violations {
        text.push_str(&format!(
            "violated: {} at step {} of seed {}: {}\n",
            violation.invariant, violation.step, violation.seed, violation.detail
        ));
    }
    if let Some(first) = report.violations.first() {
        let seed = first.seed;
        text.push_str(&format!(
            "replay it: bellwether simulate {command} --seeds 1 --seed {seed}\n"
        ));
    } else {
        text.push_str("every invariant held\n");
    }
    text
}
