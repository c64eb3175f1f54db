//! What may be changed while the scheduler runs. Every change is an event, so it is part of the
//! state that a decision is replayed from.

use serde::{Deserialize, Serialize};

use super::limits::KEY_LIMITS_MAX;
use super::{KeyLimit, Micros, Name, Priority};
use crate::words;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Strategy {
    #[default]
    Predictive,
    LeastLoaded,
    RoundRobin,
    Affinity,
    /// A stable hash of job and worker.
    Random,
    /// The plain weighted sum of predicted wait, load and priority; nothing is held back or spared.
    Formula,
}

words!(
    Strategy:
    Predictive => "predictive", LeastLoaded => "least_loaded", RoundRobin => "round_robin",
    Affinity => "affinity", Random => "random", Formula => "formula",
);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PredictorKind {
    /// One moving average per job type.
    Ema,
    /// Averages per type, sender, worker class and size, falling back to coarser ones.
    Hierarchical,
    /// Whichever of the two has lately been nearer for the type at hand.
    #[default]
    Auto,
    /// Fails at every job, to see what happens then.
    Failing,
}

words!(
    PredictorKind:
    Ema => "ema", Hierarchical => "hierarchical", Auto => "auto", Failing => "failing",
);

/// How the pauses between the attempts of a job grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Backoff {
    /// Each is twice the one before.
    #[default]
    Exponential,
    /// Each is longer by the base.
    Linear,
    /// All are the base.
    Constant,
}

words!(
    Backoff: Exponential => "exponential", Linear => "linear", Constant => "constant",
);

/// Points of the priorities, from 0 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priorities {
    pub low: u32,
    pub normal: u32,
    pub high: u32,
    pub critical: u32,
}

impl Priorities {
    pub fn points(self, priority: Priority) -> u32 {
        match priority {
            Priority::Low => self.low,
            Priority::Normal => self.normal,
            Priority::High => self.high,
            Priority::Critical => self.critical,
        }
    }
}

impl Default for Priorities {
    fn default() -> Priorities {
        let points = Priority::points;
        Priorities {
            low: points(Priority::Low),
            normal: points(Priority::Normal),
            high: points(Priority::High),
            critical: points(Priority::Critical),
        }
    }
}

/// Weights of the score, in thousandths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    pub wait: u32,
    pub load: u32,
    pub priority: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    pub strategy: Strategy,
    /// Decides beside the live strategy without effect.
    pub shadow: Option<Strategy>,
    pub predictor: PredictorKind,
    pub weights: Weights,
    pub priorities: Priorities,
    /// How many times its predicted duration a job is ranked behind its submission, in hundredths.
    pub rank_duration_percent: u32,
    /// How far ahead each priority point puts a job.
    pub rank_priority_point: Micros,
    /// Bound of the terms above, so that every job's turn comes.
    pub rank_bonus_max: Micros,
    /// Jobs sent to a worker beyond its free slots, when its jobs are short.
    pub prefetch: u32,
    /// Jobs predicted longer than this are not prefetched behind.
    pub prefetch_horizon: Micros,
    /// The same for jobs that are over at once: a worker does many of them while the next offer is on
    /// its way. So many are a stream rather than a queue, and `max_queue_per_worker` does not count them.
    pub prefetch_max: u32,
    pub max_queue_per_worker: u32,
    /// How many jobs may be passed over because a faster, busy worker is worth waiting for.
    pub hold_max: u32,
    /// How much sooner a busy worker must be expected to finish a job for it to be worth the wait.
    pub hold_margin_percent: u32,
    /// How much of its critical path puts a job of a run ahead, in hundredths.
    pub rank_path_percent: u32,

    pub job_timeout_default: Micros,
    pub retry_default: u32,
    pub max_retry: u32,
    pub retry_backoff: Backoff,
    pub retry_base: Micros,
    pub retry_cap: Micros,
    /// Crashes of workers that one job may cause before it is dead-lettered.
    pub max_crashes: u32,

    pub heartbeat_interval: Micros,
    pub unreachable_after: Micros,
    pub stall_after: Micros,

    /// Before acknowledgements of a type have been seen.
    pub hedge_after: Micros,
    pub hedge_after_min: Micros,
    /// Hedges per thousand offers.
    pub hedge_budget_permille: u32,

    pub fallback_threshold: u32,
    pub breaker_cooldown: Micros,
    pub duration_default: Micros,
    /// For types not seen yet.
    pub duration_by_type: Vec<(Name, Micros)>,
    pub model_load_default: Micros,
    pub drift_percent: u32,

    /// Jobs that have not ended.
    pub jobs_max: u64,
    /// Bytes of their payloads.
    pub payload_bytes_total_max: u64,
    pub payload_bytes_max: u64,
    pub throttle_percent: u32,
    pub reject_percent: u32,

    pub retain_jobs: u64,
    pub retain_for: Micros,
    pub idempotency_for: Micros,
    /// Keys remembered at the most; the oldest go first.
    pub idempotency_max: u64,
    /// How long an unreachable worker is remembered.
    pub forget_workers_after: Micros,
    /// On concurrency keys, in the order of their patterns.
    pub limits: Vec<KeyLimit>,
}

/// Given ids that are remembered beyond their jobs, whatever is configured.
const IDS_MAX: u64 = 250_000;

impl Default for Config {
    fn default() -> Config {
        Config {
            strategy: Strategy::Predictive,
            shadow: None,
            predictor: PredictorKind::Auto,
            weights: Weights { wait: 400, load: 400, priority: 200 },
            priorities: Priorities::default(),
            rank_duration_percent: 500,
            rank_priority_point: Micros::from_secs(10),
            rank_bonus_max: Micros::from_secs(86_400),
            prefetch: 1,
            prefetch_horizon: Micros::from_millis(50),
            prefetch_max: 48,
            max_queue_per_worker: 10,
            hold_max: 64,
            hold_margin_percent: 0,
            rank_path_percent: 100,
            job_timeout_default: Micros::from_secs(90),
            retry_default: 3,
            max_retry: 5,
            retry_backoff: Backoff::Exponential,
            retry_base: Micros::from_secs(1),
            retry_cap: Micros::from_secs(300),
            max_crashes: 3,
            heartbeat_interval: Micros::from_secs(5),
            unreachable_after: Micros::from_secs(30),
            stall_after: Micros::from_secs(30),
            hedge_after: Micros::from_millis(500),
            hedge_after_min: Micros::from_millis(50),
            hedge_budget_permille: 50,
            fallback_threshold: 3,
            breaker_cooldown: Micros::from_secs(10),
            duration_default: Micros::from_millis(5_000),
            duration_by_type: Vec::new(),
            model_load_default: Micros::from_secs(10),
            drift_percent: 50,
            jobs_max: 2_000_000,
            payload_bytes_total_max: 4 << 30,
            payload_bytes_max: 1 << 20,
            throttle_percent: 50,
            reject_percent: 95,
            retain_jobs: 10_000,
            retain_for: Micros::from_secs(3_600),
            idempotency_for: Micros::from_secs(86_400),
            idempotency_max: 1_000_000,
            forget_workers_after: Micros::from_secs(3_600),
            limits: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {given}; it must be {wanted}")]
pub struct ConfigError {
    pub key: &'static str,
    pub given: String,
    pub wanted: &'static str,
}

impl Config {
    /// Given ids that are remembered at the most beyond their jobs; fewer than keys, because all of them are
    /// kept elsewhere soon, which some keys are not.
    pub fn ids_in_memory(&self) -> u64 {
        self.idempotency_max.min(IDS_MAX)
    }

    /// A scheduler that has not listened for longer than this was away: terms are counted anew.
    pub fn away_after(&self) -> Micros {
        Micros(self.heartbeat_interval.0 / 2)
    }

    /// Refuses settings under which the scheduler could not keep its promises.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_numbers()?;
        self.validate_spans()?;
        let Priorities { low, normal, high, critical } = self.priorities;
        if !(low <= normal && normal <= high && high <= critical && critical <= 100) {
            return Err(ConfigError {
                key: "priorities",
                given: format!("{low}, {normal}, {high} and {critical}"),
                wanted: "points from 0 to 100 that do not fall from low to critical",
            });
        }
        let Weights { wait, load, priority } = self.weights;
        let weights = u64::from(wait) + u64::from(load) + u64::from(priority);
        if weights == 0 || weights > 10_000 {
            return Err(ConfigError {
                key: "weights",
                given: format!("{} in all", weights as f64 / 1e3),
                wanted: "above 0 and at most 10 in all",
            });
        }
        self.validate_limits()
    }

    fn validate_limits(&self) -> Result<(), ConfigError> {
        let (key, count) = ("limits", self.limits.len());
        if count > KEY_LIMITS_MAX {
            let given = format!("{count} entries long");
            return Err(ConfigError { key, given, wanted: "at most 1000 entries long" });
        }
        let misplaced = |limit: &&KeyLimit| {
            let pattern = limit.pattern.as_str();
            pattern.strip_suffix('*').unwrap_or(pattern).contains('*')
        };
        if let Some(limit) = self.limits.iter().find(misplaced) {
            let given = format!("for {}", limit.pattern);
            return Err(ConfigError {
                key,
                given,
                wanted: "for keys with at most one *, at the end",
            });
        }
        if !self.limits.is_sorted_by(|a, b| a.pattern < b.pattern) {
            let given = "in no order, or for one pattern twice".to_owned();
            return Err(ConfigError { key, given, wanted: "in the order of the patterns" });
        }
        Ok(())
    }

    fn validate_numbers(&self) -> Result<(), ConfigError> {
        let (retry, crashes) = (u64::from(self.max_retry), u64::from(self.max_crashes));
        let throttle = u64::from(self.throttle_percent);
        let checks = [
            ("max_retry", retry, 0..=100, "at most 100"),
            ("retry_default", u64::from(self.retry_default), 0..=retry, "at most max_retry"),
            ("max_crashes", crashes, 1..=100, "from 1 to 100"),
            (
                "max_queue_per_worker",
                u64::from(self.max_queue_per_worker),
                1..=100_000,
                "from 1 to 100000",
            ),
            (
                "hedge_budget_permille",
                u64::from(self.hedge_budget_permille),
                0..=1_000,
                "at most 1000",
            ),
            ("fallback_threshold", u64::from(self.fallback_threshold), 1..=1_000, "from 1 to 1000"),
            ("throttle_percent", throttle, 1..=100, "from 1 to 100"),
            (
                "reject_threshold",
                u64::from(self.reject_percent),
                throttle..=100,
                "from throttle_percent to 100",
            ),
            ("jobs_max", self.jobs_max, 1..=100_000_000, "from 1 to 100000000"),
            ("payload_bytes_max", self.payload_bytes_max, 1..=1 << 30, "from 1 to 1 GiB"),
            (
                "payload_bytes_total_max",
                self.payload_bytes_total_max,
                self.payload_bytes_max..=u64::MAX,
                "at least payload_bytes_max",
            ),
            ("hold_max", u64::from(self.hold_max), 0..=10_000, "at most 10000"),
            ("prefetch", u64::from(self.prefetch), 0..=1_000, "at most 1000"),
            ("prefetch_max", u64::from(self.prefetch_max), 0..=1_000, "at most 1000"),
        ];
        for (key, given, range, wanted) in checks {
            if !range.contains(&given) {
                return Err(ConfigError { key, given: given.to_string(), wanted });
            }
        }
        Ok(())
    }

    fn validate_spans(&self) -> Result<(), ConfigError> {
        const MOMENT: Micros = Micros(1);
        const LONG: Micros = Micros(u64::MAX / 4);
        let checks = [
            ("job_timeout_default", self.job_timeout_default, MOMENT..=LONG, "above 0"),
            ("retry_cap", self.retry_cap, MOMENT..=Micros::from_secs(86_400), "at most a day"),
            (
                "retry_base",
                self.retry_base,
                MOMENT..=self.retry_cap,
                "above 0 and at most retry_cap",
            ),
            (
                "hedge_after",
                self.hedge_after,
                self.hedge_after_min..=LONG,
                "at least hedge_after_min",
            ),
            (
                "heartbeat_interval",
                self.heartbeat_interval,
                Micros::from_millis(1)..=self.unreachable_after,
                "at least 1 ms and at most unreachable_after",
            ),
            ("duration_default", self.duration_default, MOMENT..=LONG, "above 0"),
        ];
        for (key, given, range, wanted) in checks {
            if !range.contains(&given) {
                let seconds = |span: Micros| format!("{} s", span.0 as f64 / 1e6);
                // Whichever of two was set, it is named.
                let beside = match key {
                    "retry_base" => Some(("retry_cap", self.retry_cap)),
                    "hedge_after" => Some(("hedge_after_min", self.hedge_after_min)),
                    "heartbeat_interval" => Some(("unreachable_after", self.unreachable_after)),
                    _ => None,
                };
                let beside = beside.map(|(key, span)| format!(" while {key} is {}", seconds(span)));
                let given = seconds(given) + &beside.unwrap_or_default();
                return Err(ConfigError { key, given, wanted });
            }
        }
        Ok(())
    }
}
