//! Names on the command line, and what they stand for.

use bellwether_core::model::Strategy;
use bellwether_core::model::config::PredictorKind;
use bellwether_sim::trace::{Baseline, Load};

pub(crate) fn parse_strategy(text: &str) -> Result<Strategy, String> {
    Strategy::parse(text).ok_or_else(|| one_of(&Strategy::ALL.map(Strategy::as_str)))
}

pub(crate) fn parse_baseline(text: &str) -> Result<Baseline, String> {
    Baseline::parse(text).ok_or_else(|| one_of(&Baseline::ALL.map(Baseline::as_str)))
}

pub(crate) fn parse_predictor(text: &str) -> Result<PredictorKind, String> {
    PredictorKind::parse(text).ok_or_else(|| one_of(&PredictorKind::ALL.map(PredictorKind::as_str)))
}

pub(crate) fn parse_load(text: &str) -> Result<Load, String> {
    let share: f64 = text.parse().map_err(|_| "not a number; write it as 0.8".to_owned())?;
    Load::new(share).map_err(|error| error.to_string())
}

fn one_of(names: &[&str]) -> String {
    format!("it must be one of {}", names.join(", "))
}
