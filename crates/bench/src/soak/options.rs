//! What is done, for how long, and what is still good.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// The least that is taken for a steady history: below it everything is kept.
const HISTORY_JOBS_MAX: u64 = 500_000;
/// Percent of `history_jobs_max` that may be there, because partitions go as a whole.
pub(super) const HISTORY_ROWS_PERCENT_MAX: u64 = 110;
/// How far the history may be behind, and where schedulers are killed, which then read much anew.
const LAG_SECONDS_MAX: f64 = 2.0;
const LAG_SECONDS_MAX_WITH_FAULTS: f64 = 30.0;
const DISK_BYTES_MAX: u64 = 2 << 30;
/// Of a query that names the position of a submission.
const READ_P99_MS_MAX: f64 = 100.0;
const READ_P99_MS_MAX_WITH_FAULTS: f64 = 2_000.0;
const GROWTH_PERCENT_MAX: f64 = 5.0;
const GROWTH_PERCENT_MAX_WITH_FAULTS: f64 = 50.0;
/// Of the rate that was asked for, in percent, where nothing is broken on purpose.
pub(super) const RATE_PERCENT_MIN: f64 = 98.0;

/// Runs its own scheduler and workers under load, breaks them, checks from outside that every promise
/// is kept, and says each minute how it goes. Exits with 1 on loss, growth or lag.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// How long
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(super) minutes: u64,
    /// No-op jobs a second, in batches; a mix of all that jobs can be comes on top
    #[arg(long, default_value_t = 1_000, value_name = "JOBS/S", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(super) rate: u64,
    /// What is broken: all, none, or some of kill-scheduler, pause-scheduler, kill-worker,
    /// pause-worker, clock, slow-readers, webhooks (whose receiver refuses every third post)
    #[arg(long, default_value = "all", value_name = "LIST")]
    pub(super) faults: Faults,
    /// Seconds between two faults, about
    #[arg(long, default_value_t = 10.0, value_name = "SECONDS")]
    pub(super) fault_every: f64,
    /// Repeats what is drawn: jobs, faults and their order. Times differ
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Ended jobs that the scheduler's history keeps; a tenth more may be there
    #[arg(long, default_value_t = HISTORY_JOBS_MAX)]
    pub(super) history_jobs_max: u64,
    /// How many seconds the history may be behind; 2 by default, 30 with faults
    #[arg(long, value_name = "SECONDS")]
    lag_max: Option<f64>,
    /// Bytes that the data directory may take
    #[arg(long, default_value_t = DISK_BYTES_MAX, value_name = "BYTES")]
    pub(super) disk_max: u64,
    /// Percent by which memory, disk and open files may grow once the history is full; 5 by default,
    /// 50 with faults
    #[arg(long, value_name = "PERCENT")]
    growth_max: Option<f64>,
    /// Milliseconds that a read after a write may take, p99 of a minute; 100 by default, 2000 with
    /// faults
    #[arg(long, value_name = "MS")]
    read_p99_max: Option<f64>,
    /// Milliseconds from when a job was to be sent until it starts, p99 of a minute; not limited by
    /// default
    #[arg(long, value_name = "MS")]
    pub(super) start_p99_max: Option<f64>,
    /// Folder for the scheduler's data, removed afterwards unless a promise was broken; the current
    /// folder by default
    #[arg(long, value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
}

/// What may be broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    KillScheduler,
    /// Past every lease.
    PauseScheduler,
    KillWorker,
    PauseWorker,
    /// The scheduler's wall clock is set, forwards or back.
    Clock,
    /// Followers of all events that take 100 bytes a second.
    SlowReaders,
    /// A receiver of webhooks that refuses some posts.
    Webhooks,
}

const FAULTS: [(&str, Fault); 7] = [
    ("kill-scheduler", Fault::KillScheduler),
    ("pause-scheduler", Fault::PauseScheduler),
    ("kill-worker", Fault::KillWorker),
    ("pause-worker", Fault::PauseWorker),
    ("clock", Fault::Clock),
    ("slow-readers", Fault::SlowReaders),
    ("webhooks", Fault::Webhooks),
];

impl Fault {
    pub(super) fn name(self) -> &'static str {
        FAULTS.iter().find(|(_, fault)| *fault == self).map_or("", |(name, _)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Faults(Vec<Fault>);

impl Faults {
    pub(super) fn has(&self, fault: Fault) -> bool {
        self.0.contains(&fault)
    }

    /// Those that happen at a moment; the others are there all the time.
    pub(super) fn sudden(&self) -> Vec<Fault> {
        let lasting = |fault: &Fault| matches!(fault, Fault::SlowReaders | Fault::Webhooks);
        self.0.iter().copied().filter(|fault| !lasting(fault)).collect()
    }
}

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        match text {
            "all" => return Ok(Faults(FAULTS.map(|(_, fault)| fault).to_vec())),
            "none" => return Ok(Faults(Vec::new())),
            _ => {}
        }
        let fault = |word: &str| {
            let known = FAULTS.iter().find(|(name, _)| *name == word).map(|(_, fault)| *fault);
            let names = FAULTS.map(|(name, _)| name).join(", ");
            known.ok_or_else(|| format!("{word:?} is none of all, none, {names}"))
        };
        text.split(',').map(fault).collect::<Result<_, _>>().map(Faults)
    }
}

/// What is still good.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) rows_max: u64,
    pub(super) lag_seconds_max: f64,
    pub(super) disk_bytes_max: u64,
    pub(super) growth_percent_max: f64,
    pub(super) read_p99_ms_max: f64,
    pub(super) start_p99_ms_max: Option<f64>,
    /// Jobs a second; none where the scheduler is broken on purpose.
    pub(super) rate_min: Option<f64>,
}

impl Options {
    pub(super) fn limits(&self) -> Limits {
        let sound = self.faults.sudden().is_empty();
        let either =
            |given: Option<f64>, calm, shaken| given.unwrap_or(if sound { calm } else { shaken });
        Limits {
            rows_max: self.history_jobs_max.saturating_mul(HISTORY_ROWS_PERCENT_MAX) / 100,
            lag_seconds_max: either(self.lag_max, LAG_SECONDS_MAX, LAG_SECONDS_MAX_WITH_FAULTS),
            disk_bytes_max: self.disk_max,
            growth_percent_max: either(
                self.growth_max,
                GROWTH_PERCENT_MAX,
                GROWTH_PERCENT_MAX_WITH_FAULTS,
            ),
            read_p99_ms_max: either(
                self.read_p99_max,
                READ_P99_MS_MAX,
                READ_P99_MS_MAX_WITH_FAULTS,
            ),
            start_p99_ms_max: self.start_p99_max,
            rate_min: sound.then(|| self.rate as f64 * RATE_PERCENT_MIN / 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_chosen_by_name() {
        assert_eq!("none".parse(), Ok(Faults(Vec::new())));
        assert_eq!("all".parse::<Faults>().map(|all| all.0.len()), Ok(FAULTS.len()));
        let two: Faults = "clock,kill-worker".parse().unwrap();
        assert!(
            two.has(Fault::Clock) && two.has(Fault::KillWorker) && !two.has(Fault::PauseWorker)
        );
        assert!("clocks".parse::<Faults>().unwrap_err().contains("kill-scheduler"));
    }
}
