//! What came out, a line for each backend.

use serde::Serialize;

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
}

impl Row {
    pub(super) fn new(kind: Kind, through: Through, direct: Direct, raw_per_s: f64) -> Row {
        Row {
            backend: kind.name(),
            through_per_s: through.jobs_per_s,
            direct_per_s: direct.jobs_per_s,
            raw_per_s,
            ratio: through.jobs_per_s / direct.jobs_per_s.min(raw_per_s),
            start_p99_ms: through.start_p99_ms,
            direct_start_p99_ms: direct.start_p99_ms,
            added_p99_ms: through.start_p99_ms - direct.start_p99_ms,
        }
    }
}

pub(super) fn readable(rows: &[Row]) -> String {
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
    table.render()
}
