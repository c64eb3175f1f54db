//! A line a minute, and what came of it all.

use std::collections::BTreeMap;

use serde::Serialize;

use super::options::Limits;

/// The history is full at this share of what it may keep; only then sizes are compared.
const FULL: f64 = 0.9;
/// Growth of open files that says nothing.
const FILES_SLACK: f64 = 32.0;

#[derive(Debug, Clone, Serialize)]
pub struct Minute {
    pub minute: u64,
    /// Jobs of the flood that were acknowledged.
    pub acknowledged_per_s: f64,
    /// Of those, results that were confirmed to workers.
    pub confirmed_per_s: f64,
    /// Jobs of all other kinds that were followed to their end.
    pub mixed_jobs: u64,
    /// From when a job was to be sent until its handler started.
    pub start_p99_ms: f64,
    /// Of queries that name the position of a submission.
    pub read_p99_ms: f64,
    pub lag_s: f64,
    pub rows: u64,
    pub rss_bytes: u64,
    pub files: u64,
    pub disk_bytes: u64,
    pub refused: u64,
    pub faults: u64,
}

#[derive(Debug, Serialize)]
pub struct Report {
    pub seed: u64,
    pub minutes: u64,
    pub acknowledged: u64,
    pub confirmed: u64,
    /// Jobs of the flood that were started once more, as at_least_once allows.
    pub started_again: u64,
    pub mixed_jobs: u64,
    pub faults: BTreeMap<&'static str, u64>,
    /// Of the second half of the minutes with a full history over the first; null if there were
    /// fewer than two.
    pub growth_percent: Option<Growth>,
    /// What was promised and not kept, or is beyond its limit. Nothing, if all is well.
    pub broken: Vec<String>,
    /// Where the data is kept, if something is broken.
    pub kept: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Growth {
    pub rss: f64,
    pub disk: f64,
    pub files: f64,
}

impl Minute {
    pub const HEADINGS: [&'static str; 13] = [
        "minute", "jobs/s", "done/s", "mixed", "start p99 ms", "read p99 ms", "lag s", "rows",
        "RSS MiB", "files", "disk MiB", "refused", "faults",
    ];

    /// One for each heading.
    #[must_use]
    pub fn values(&self) -> [f64; 13] {
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        [
            self.minute as f64,
            self.acknowledged_per_s,
            self.confirmed_per_s,
            self.mixed_jobs as f64,
            self.start_p99_ms,
            self.read_p99_ms,
            self.lag_s,
            self.rows as f64,
            mebibytes(self.rss_bytes),
            self.files as f64,
            mebibytes(self.disk_bytes),
            self.refused as f64,
            self.faults as f64,
        ]
    }

    /// What is beyond its limit.
    pub(super) fn judge(&self, limits: &Limits) -> Vec<String> {
        let least = limits.rate_min.unwrap_or(0.0);
        let checks = [
            ("rows in the history", self.rows as f64, limits.rows_max as f64),
            ("seconds that the history is behind", self.lag_s, limits.lag_seconds_max),
            ("bytes of disk", self.disk_bytes as f64, limits.disk_bytes_max as f64),
            ("ms for a read after a write, p99", self.read_p99_ms, limits.read_p99_ms_max),
            (
                "ms until a job starts, p99",
                self.start_p99_ms,
                limits.start_p99_ms_max.unwrap_or(f64::INFINITY),
            ),
            ("jobs/s not taken", least - self.acknowledged_per_s, 0.0),
            ("jobs/s not done", least - self.confirmed_per_s, 0.0),
        ];
        let beyond = checks.into_iter().filter(|(_, value, most)| value > most);
        let minute = self.minute;
        beyond
            .map(|(what, value, most)| {
                format!("minute {minute}: {value:.1} {what}; at most {most}")
            })
            .collect()
    }
}

impl Growth {
    /// Of the minutes with a full history.
    pub(super) fn of(minutes: &[Minute], history_jobs_max: u64) -> Option<Growth> {
        let full = history_jobs_max as f64 * FULL;
        let first = minutes.iter().position(|minute| minute.rows as f64 >= full)?;
        // In the first one it became full.
        let steady = minutes.get(first + 1..)?;
        if steady.len() < 2 {
            return None;
        }
        let (early, late) = steady.split_at(steady.len() / 2);
        let percent = |read: fn(&Minute) -> f64| {
            let mean =
                |minutes: &[Minute]| minutes.iter().map(read).sum::<f64>() / minutes.len() as f64;
            (mean(late) / mean(early).max(1.0) - 1.0) * 100.0
        };
        Some(Growth {
            rss: percent(|minute| minute.rss_bytes as f64),
            disk: percent(|minute| minute.disk_bytes as f64),
            files: percent(|minute| minute.files as f64 + FILES_SLACK),
        })
    }

    pub(super) fn judge(&self, limits: &Limits) -> Vec<String> {
        let most = limits.growth_percent_max;
        let sizes = [("memory", self.rss), ("disk", self.disk), ("open files", self.files)];
        let beyond = sizes.into_iter().filter(|(_, percent)| *percent > most);
        beyond
            .map(|(what, percent)| format!("{what} grew by {percent:.1}%; at most {most}%"))
            .collect()
    }
}

impl Report {
    /// For a reader.
    #[must_use]
    pub fn closing(&self) -> String {
        let mut text = format!(
            "\n{} jobs were acknowledged and {} mixed ones followed to their end; {} were started once more\n",
            self.acknowledged, self.mixed_jobs, self.started_again
        );
        let faults = self.faults.iter().map(|(name, times)| format!("{times} {name}"));
        let faults: Vec<_> = faults.collect();
        if !faults.is_empty() {
            text.push_str(&format!("faults: {}\n", faults.join(", ")));
        }
        match self.growth_percent {
            Some(Growth { rss, disk, files }) => text.push_str(&format!(
                "growth with a full history: memory {rss:.1}%, disk {disk:.1}%, open files {files:.1}%\n"
            )),
            None => text.push_str("the history was full for less than two minutes: growth is not judged\n"),
        }
        for broken in &self.broken {
            text.push_str(&format!("broken: {broken}\n"));
        }
        match &self.kept {
            Some(kept) => text.push_str(&format!(
                "data and log are kept in {kept}; again: bellwether soak --seed {}\n",
                self.seed
            )),
            None => text.push_str("every promise was kept\n"),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(minute: u64, rows: u64, rss_bytes: u64) -> Minute {
        Minute {
            minute,
            acknowledged_per_s: 1_000.0,
            confirmed_per_s: 1_000.0,
            mixed_jobs: 10,
            start_p99_ms: 5.0,
            read_p99_ms: 5.0,
            lag_s: 1.0,
            rows,
            rss_bytes,
            files: 20,
            disk_bytes: 1_000,
            refused: 0,
            faults: 0,
        }
    }

    const LIMITS: Limits = Limits {
        rows_max: 1_100,
        lag_seconds_max: 2.0,
        disk_bytes_max: 2_000,
        growth_percent_max: 5.0,
        read_p99_ms_max: 100.0,
        start_p99_ms_max: None,
        rate_min: Some(980.0),
    };

    #[test]
    fn what_is_beyond_its_limit_is_named() {
        assert_eq!(minute(1, 1_100, 1).judge(&LIMITS), [""; 0]);
        let lagging = Minute { lag_s: 3.0, acknowledged_per_s: 900.0, ..minute(2, 1_101, 1) };
        let broken = lagging.judge(&LIMITS).join("; ");
        for word in ["minute 2", "rows", "behind", "80.0 jobs/s not taken"] {
            assert!(broken.contains(word), "{broken}");
        }
    }

    #[test]
    fn growth_counts_from_when_the_history_is_full() {
        let rising: Vec<_> = (1..=6).map(|at| minute(at, at * 400, 100 * at)).collect();
        let growth = Growth::of(&rising, 1_000).unwrap();
        // Full in the third minute: the fourth against the fifth and sixth.
        assert!((growth.rss - 37.5).abs() < 0.1, "{growth:?}");
        assert_eq!(growth.judge(&LIMITS).len(), 1);
        assert!(Growth::of(&rising, 10_000).is_none(), "it was never full");
    }
}
