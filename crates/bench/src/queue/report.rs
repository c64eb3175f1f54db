//! What came out, a line for each backend.

use serde::Serialize;

use super::Measured;
use crate::broker_server::Kind;
use crate::figures::{Sheet, median};

#[derive(Debug, Serialize)]
pub struct Row {
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

impl Row {
    /// The middle of each of the rounds: through with the broker alone, and direct.
    pub(super) fn new(kind: Kind, rounds: &[(Measured, f64)], directs: &[Measured]) -> Row {
        let of = |read: fn(&(Measured, f64)) -> f64| median(rounds.iter().map(read));
        let of_direct = |read: fn(&Measured) -> f64| median(directs.iter().map(read));
        let through_per_s = of(|(through, _)| through.jobs_per_s);
        let raw_per_s = of(|(_, raw)| *raw);
        let direct_per_s = of_direct(|direct| direct.jobs_per_s);
        let start_p99_ms = of(|(through, _)| through.start_p99_ms);
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
            rounds_per_s: rounds.iter().map(|(through, _)| through.jobs_per_s).collect(),
            direct_rounds_per_s: directs.iter().map(|direct| direct.jobs_per_s).collect(),
        }
    }
}

#[must_use]
pub fn sheet(rows: &[Row], rounds: u32) -> Sheet {
    let mut sheet = Sheet::new(&[
        "backend", "through jobs/s", "direct jobs/s", "broker alone/s", "of the lower",
        "start p99 ms", "direct p99 ms", "added p99 ms",
    ]);
    for row in rows {
        let values = [
            row.through_per_s,
            row.direct_per_s,
            row.raw_per_s,
            row.ratio,
            row.start_p99_ms,
            row.direct_start_p99_ms,
            row.added_p99_ms,
        ];
        sheet.row(row.backend, &values);
    }
    if rounds > 1 {
        sheet.closing = format!("Each the middle of {rounds} rounds.\n");
    }
    sheet
}
