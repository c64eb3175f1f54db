//! `bellwether simulate predict`: how well a predictor foretells a recorded workload.

use std::path::PathBuf;

use bellwether_core::model::config::PredictorKind;
use bellwether_sim::predict::{self, PredictReport};
use bellwether_sim::trace::reader;
use clap::Args;

use super::names::parse_word;
use crate::exit::Verdict;
use crate::output::{self, Table, number, percent};

/// Predict every job of a recorded workload; a predictor learns of a job only once it has finished.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// JSON lines, gzipped or not
    file: PathBuf,
    /// One of ema, hierarchical, auto
    #[arg(long, value_parser = parse_word::<PredictorKind>, default_value = "auto")]
    predictor: PredictorKind,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let jobs = reader::read(&arguments.file)?;
    let report = predict::predict(&jobs, arguments.predictor)?;
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&readable(&report, arguments.predictor))?;
    }
    Ok(Verdict::Fine)
}

fn readable(report: &PredictReport, predictor: PredictorKind) -> String {
    let mut table = Table::new(&["", predictor.as_str()]);
    table.row(vec!["jobs".to_owned(), report.jobs.to_string()]);
    table.row(vec!["within 25%".to_owned(), percent(report.within_25_percent)]);
    table.row(vec!["median error".to_owned(), percent(report.median_error)]);
    table.row(vec!["drifts".to_owned(), number(report.drifts as f64)]);
    table.render()
}
