//! What came out.

use serde::Serialize;

use super::onlookers::Seen;
use super::processor::Processor;
use crate::figures::{Sheet, median};

#[derive(Debug, Serialize)]
pub struct Report {
    /// Of the medians.
    ratio: f64,
    off_per_s: f64,
    on_per_s: f64,
    /// The same for the time that threads at the usual priority spent on a job: off through on.
    processor_ratio: f64,
    jobs: u64,
    clickhouse: &'static str,
    spans_collected: u64,
    rounds: Vec<Round>,
}

#[derive(Debug, Serialize)]
pub(super) struct Round {
    pub(super) on: bool,
    pub(super) jobs_per_s: f64,
    /// Of the scheduler's process.
    pub(super) processor: Processor,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seen: Option<Seen>,
}

impl Report {
    pub(super) fn new(
        jobs: u64,
        clickhouse: &'static str,
        spans_collected: u64,
        rounds: Vec<Round>,
    ) -> Report {
        let of = |on| median(rounds.iter().filter(|r| r.on == on).map(|r| r.jobs_per_s));
        let (off_per_s, on_per_s) = (of(false), of(true));
        let ratio = on_per_s / off_per_s;
        let spent = |on| {
            let of_kind = rounds.iter().filter(|round| round.on == on);
            median(of_kind.map(|round| round.processor.first_us))
        };
        let processor_ratio = spent(false) / spent(true);
        Report {
            ratio,
            off_per_s,
            on_per_s,
            processor_ratio,
            jobs,
            clickhouse,
            spans_collected,
            rounds,
        }
    }

    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let mut sheet = Sheet::new(&[
            "sinks", "jobs/s", "us/job", "of it loop", "background", "rows", "rows dropped",
            "spans", "events",
        ]);
        for round in &self.rounds {
            let seen = |read: fn(&Seen) -> u64| round.seen.as_ref().map(|seen| read(seen) as f64);
            let values = vec![
                Some(round.jobs_per_s),
                Some(round.processor.first_us),
                Some(round.processor.loop_us),
                Some(round.processor.background_us),
                seen(|seen| seen.clickhouse_written),
                seen(|seen| seen.clickhouse_dropped),
                seen(|seen| seen.spans_written),
                seen(|seen| seen.events_followed),
            ];
            sheet.rows.push((if round.on { "on" } else { "off" }.to_owned(), values));
        }
        let (on, off) = (self.on_per_s, self.off_per_s);
        sheet.closing = format!("\n{on:.0} of {off:.0} jobs/s: {:.2}\n", self.ratio);
        sheet
    }
}
