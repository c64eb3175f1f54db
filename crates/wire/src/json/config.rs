//! The configuration that can change while the scheduler runs, with the keys and units of
//! `scheduler.yaml`.

use std::collections::BTreeMap;

use bellwether_core::model::config::{Backoff, Config, PredictorKind, Priorities, Weights};
use bellwether_core::model::{KeyLimit, Micros, Name, OnLimit, Strategy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::code;
use super::decision;
use super::unit::seconds;
use crate::malformed::{Malformed, SPAN_MAX};

/// Types that may have a duration of their own.
const TYPES_MAX: usize = 10_000;
const SPAN: &str = "it must be a number of seconds, at most 100 years";
const SHARE: &str = "it must be a share from 0 to 10";
const STRATEGY: &str =
    "it must be predictive, least_loaded, round_robin, affinity, random or formula";
const PREDICTOR: &str = "it must be ema, hierarchical, auto or failing";
const ON_LIMIT: &str = "on_limit must be queue, skip or replace";
const BACKOFF: &str = "it must be exponential, linear or constant";

/// Points of the priorities, from 0 to 100.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = Priorities)]
#[serde(deny_unknown_fields)]
struct Points {
    low: u32,
    normal: u32,
    high: u32,
    critical: u32,
}

impl Default for Points {
    fn default() -> Points {
        Priorities::default().into()
    }
}

impl From<Priorities> for Points {
    fn from(Priorities { low, normal, high, critical }: Priorities) -> Points {
        Points { low, normal, high, critical }
    }
}

impl From<Points> for Priorities {
    fn from(Points { low, normal, high, critical }: Points) -> Priorities {
        Priorities { low, normal, high, critical }
    }
}

/// Of one key, or of each key that a pattern is for.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = KeyLimit)]
#[serde(deny_unknown_fields)]
struct Limit {
    /// What its jobs may weigh together that are placed; each weighs 1 if it does not say. None start if it
    /// is 0.
    max: u32,
    /// What becomes of a job that comes when there are so many.
    #[serde(default = "queue")]
    #[schema(required = false, value_type = code::OnLimit)]
    on_limit: String,
}

fn queue() -> String {
    OnLimit::Queue.as_str().to_owned()
}

impl Limit {
    fn of(limit: &KeyLimit) -> (String, Limit) {
        let on_limit = limit.on_limit.as_str().to_owned();
        (limit.pattern.to_string(), Limit { max: limit.max, on_limit })
    }

    fn read((pattern, limit): (&String, &Limit)) -> Result<KeyLimit, Malformed> {
        let on_limit = OnLimit::parse(&limit.on_limit);
        let wrong = || Malformed::not_allowed("limits", &limit.on_limit, ON_LIMIT);
        Ok(KeyLimit {
            pattern: Name::new(pattern).map_err(|why| Malformed::new("limits", why))?,
            max: limit.max,
            on_limit: on_limit.ok_or_else(wrong)?,
        })
    }
}

fn exponential() -> String {
    Backoff::Exponential.as_str().to_owned()
}

macro_rules! live_config {
    (plain: $($plain:ident: $kind:ty),+; spans: $($span:ident),+;) => {
        /// What can be changed while the scheduler runs, with the keys of `scheduler.yaml`. Spans
        /// are seconds.
        #[derive(Debug, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct LiveConfig {
            #[schema(value_type = code::Strategy)]
            strategy: String,
            /// Decides beside the live strategy without effect; absent or null is none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schema(value_type = Option<code::Strategy>)]
            shadow: Option<String>,
            #[schema(value_type = code::Predictor)]
            predictor: String,
            weights: decision::Weights,
            #[serde(default)]
            #[schema(required = false)]
            priorities: Points,
            /// How the pauses between attempts grow.
            #[serde(default = "exponential")]
            #[schema(required = false, value_type = code::Backoff)]
            retry_backoff: String,
            /// How full the queue may be, in percent, before more is refused.
            reject_threshold: u32,
            /// For types not seen yet.
            #[serde(default)]
            #[schema(required = false)]
            duration_by_type: BTreeMap<String, f64>,
            /// How much of a concurrency key may be taken at a time, by key or by the start of keys with a *
            /// behind it.
            #[serde(default)]
            #[schema(required = false)]
            limits: BTreeMap<String, Limit>,
            $($plain: $kind,)+
            $(#[schema(minimum = 0)] $span: f64,)+
        }

        impl From<&Config> for LiveConfig {
            fn from(config: &Config) -> LiveConfig {
                let share = |thousandths: u32| f64::from(thousandths) / 1e3;
                LiveConfig {
                    strategy: config.strategy.as_str().to_owned(),
                    shadow: config.shadow.map(|shadow| shadow.as_str().to_owned()),
                    predictor: config.predictor.as_str().to_owned(),
                    weights: decision::Weights {
                        wait: share(config.weights.wait),
                        load: share(config.weights.load),
                        priority: share(config.weights.priority),
                    },
                    priorities: config.priorities.into(),
                    retry_backoff: config.retry_backoff.as_str().to_owned(),
                    reject_threshold: config.reject_percent,
                    duration_by_type: config
                        .duration_by_type
                        .iter()
                        .map(|(kind, duration)| (kind.to_string(), seconds(duration.0)))
                        .collect(),
                    limits: config.limits.iter().map(Limit::of).collect(),
                    $($plain: config.$plain,)+
                    $($span: seconds(config.$span.0),)+
                }
            }
        }

        impl LiveConfig {
            /// What no configuration may be is for the scheduler to say.
            pub fn read(self) -> Result<Config, Malformed> {
                Ok(Config {
                    strategy: strategy("strategy", &self.strategy)?,
                    shadow: self.shadow.map(|text| strategy("shadow", &text)).transpose()?,
                    predictor: PredictorKind::parse(&self.predictor).ok_or_else(|| {
                        Malformed::not_allowed("predictor", &self.predictor, PREDICTOR)
                    })?,
                    weights: Weights {
                        wait: share("weights.wait", self.weights.wait)?,
                        load: share("weights.load", self.weights.load)?,
                        priority: share("weights.priority", self.weights.priority)?,
                    },
                    priorities: self.priorities.into(),
                    retry_backoff: Backoff::parse(&self.retry_backoff).ok_or_else(|| {
                        Malformed::not_allowed("retry_backoff", &self.retry_backoff, BACKOFF)
                    })?,
                    reject_percent: self.reject_threshold,
                    duration_by_type: durations(&self.duration_by_type)?,
                    limits: self.limits.iter().map(Limit::read).collect::<Result<_, _>>()?,
                    $($plain: self.$plain,)+
                    $($span: span(stringify!($span), self.$span)?,)+
                })
            }
        }
    };
}

live_config! {
    plain: rank_duration_percent: u32, rank_path_percent: u32, prefetch: u32,
        prefetch_max: u32, max_queue_per_worker: u32, hold_max: u32, hold_margin_percent: u32, retry_default: u32,
        max_retry: u32, max_crashes: u32, hedge_budget_permille: u32, fallback_threshold: u32,
        drift_percent: u32, jobs_max: u64, payload_bytes_total_max: u64, payload_bytes_max: u64,
        throttle_percent: u32, retain_jobs: u64, idempotency_max: u64;
    spans: rank_priority_point, rank_bonus_max, prefetch_horizon, job_timeout_default, retry_base,
        retry_cap, heartbeat_interval, unreachable_after, stall_after, hedge_after,
        hedge_after_min, breaker_cooldown, duration_default, model_load_default, retain_for,
        idempotency_for, forget_workers_after;
}

fn strategy(key: &str, text: &str) -> Result<Strategy, Malformed> {
    Strategy::parse(text).ok_or_else(|| Malformed::not_allowed(key, text, STRATEGY))
}

fn share(key: &str, share: f64) -> Result<u32, Malformed> {
    if !(0.0..=10.0).contains(&share) {
        return Err(Malformed::not_allowed(key, share, SHARE));
    }
    Ok((share * 1e3).round() as u32)
}

fn span(key: &str, seconds: f64) -> Result<Micros, Malformed> {
    let micros = (seconds * 1e6).round();
    if !(0.0..=SPAN_MAX.0 as f64).contains(&micros) {
        return Err(Malformed::not_allowed(key, seconds, SPAN));
    }
    Ok(Micros(micros as u64))
}

fn durations(given: &BTreeMap<String, f64>) -> Result<Vec<(Name, Micros)>, Malformed> {
    if given.len() > TYPES_MAX {
        let count = format!("{} entries long", given.len());
        return Err(Malformed::not_allowed("duration_by_type", count, "at most 10000 are allowed"));
    }
    let entry = |(kind, duration): (&String, &f64)| {
        let kind = Name::new(kind).map_err(|why| Malformed::new("duration_by_type", why))?;
        Ok((kind, span("duration_by_type", *duration)?))
    };
    given.iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_read_the_same() {
        let mut config = Config { shadow: Some(Strategy::RoundRobin), ..Config::default() };
        config.duration_by_type = vec![(Name::fixed("t"), Micros(1_500_001))];
        let pattern = Name::fixed("customer:*");
        config.limits = vec![KeyLimit { pattern, max: 2, on_limit: OnLimit::Skip }];
        assert_eq!(LiveConfig::from(&config).read(), Ok(config));
    }

    #[test]
    fn what_can_not_be_is_named() {
        let mut shown = LiveConfig::from(&Config::default());
        shown.retry_cap = -1.0;
        let error = shown.read().unwrap_err().to_string();
        assert!(error.starts_with("retry_cap: is -1;"), "{error}");
    }
}
