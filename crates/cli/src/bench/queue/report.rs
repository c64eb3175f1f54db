//! What came out, a line for each backend.

use serde::Serialize;

use super::super::median::median;
use super::broker_server::Kind;
use super::direct::Direct;
use super::through::Through;
use crate::output::{Table, number};

#[derive(Debug, Serialize)]
pub(super) struct Row {
    backend: &'static str,
    /// Published, executed, and the event of it read.
    through_per_s: f64,
    /// Submitted over gRPC, executed and confirmed.
    direct_per_s: f64,
    /// The broker alone: published, received and settled.
    raw_per_s: f64,
    /// Of the lower of the two.
    ratio: f64,
    /// From sent to started, at an even pace.
    start_p99_ms: f64,
    direct_start_p99_ms: f64,
    added_p99_ms: f64,
    /// Through and direct, one by one.
    rounds_per_s: Vec<f64>,
    direct_rounds_per_s: Vec<f64>,
}

/// One round of one backend.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) through: Through,
    pub(super) raw_per_s: f64,
}

impl Row {
    /// The middle of each of the rounds.
    pub(super) fn new(kind: Kind, rounds: &[Measured], directs: &[Direct]) -> Row {
        let of = |read: fn(&Measured) -> f64| median(rounds.iter().map(read));
        let of_direct = |read: fn(&Direct) -> f64| median(directs.iter().map(read));
        let through_per_s = of(|round| round.through.jobs_per_s);
        let raw_per_s = of(|round| round.raw_per_s);
        let direct_per_s = of_direct(|direct| direct.jobs_per_s);
        let start_p99_ms = of(|round| round.through.start_p99_ms);
        let direct_start_p99_ms = of_direct(|direct| direct.start_p99_ms);
        Row {
            backend: kind.name(),
            through_per_s,
            direct_per_s,
            raw_per_s,
            ratio: through_per_s / direct_per_s.min(raw_per_s),
            start_p99_ms,
            direct_start_p99_ms,
            added_p99_ms: start_p99_ms - direct_start_p99_ms,
            rounds_per_s: rounds.iter().map(|round| round.through.jobs_per_s).collect(),
            direct_rounds_per_s: directs.iter().map(|direct| direct.jobs_per_s).collect(),
        }
    }
}

pub(super) fn readable(rows: &[Row], rounds: u32) -> String {
    let mut table = Table::new(&[
        "backend",
        "through jobs/s",
        "direct jobs/s",
        "broker alone/s",
        "of the lower",
        "start p99 ms",
        "direct p99 ms",
        "added p99 ms",
    ]);
    for row in rows {
        table.row(vec![
            row.backend.to_owned(),
            number(row.through_per_s),
            number(row.direct_per_s),
            number(row.raw_per_s),
            number(row.ratio),
            number(row.start_p99_ms),
            number(row.direct_start_p99_ms),
            number(row.added_p99_ms),
        ]);
    }
    let median =
        if rounds > 1 { format!("Each the middle of {rounds} rounds.\n") } else { String::new() };
    format!("{}{median}", table.render())
}
