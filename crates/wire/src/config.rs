//! The live configuration.

use bellwether_core::model::config::{Backoff, PredictorKind, Priorities, Weights};
use bellwether_core::model::{Config, Micros, Strategy};

use crate::concurrency::{limits_from_wire, limits_to_wire};
use crate::malformed::{Malformed, at_most, name};
use crate::{Mirror, v1};

/// Types that the configuration may give a duration.
const TYPES_MAX: usize = 10_000;

// The fields that are the same on both sides but for their newtype are listed once.
macro_rules! config_fields {
    (plain: $($plain:ident),+; micros: $($micros:ident),+ $(;)?) => {
        pub fn config_to_wire(config: &Config) -> v1::Config {
            v1::Config {
                strategy: config.strategy.to_wire(),
                shadow: config.shadow.map_or(0, Mirror::to_wire),
                predictor: config.predictor.to_wire(),
                weights: Some(v1::Weights {
                    wait: config.weights.wait,
                    load: config.weights.load,
                    priority: config.weights.priority,
                }),
                // Left out where they are as ever: what was kept before there was a choice stays the same.
                priorities: (config.priorities != Priorities::default()).then_some(v1::Priorities {
                    low: config.priorities.low,
                    normal: config.priorities.normal,
                    high: config.priorities.high,
                    critical: config.priorities.critical,
                }),
                retry_backoff: match config.retry_backoff {
                    Backoff::Exponential => 0,
                    other => other.to_wire(),
                },
                duration_by_type: config
                    .duration_by_type
                    .iter()
                    .map(|(kind, duration)| v1::DurationOfType {
                        r#type: kind.to_string(),
                        duration: duration.0,
                    })
                    .collect(),
                limits: limits_to_wire(&config.limits),
                $($plain: config.$plain,)+
                $($micros: config.$micros.0,)+
            }
        }

        pub fn config_from_wire(wire: &v1::Config) -> Result<Config, Malformed> {
            let weights = wire.weights.as_ref().ok_or_else(|| Malformed::missing("weights"))?;
            at_most("duration_by_type", wire.duration_by_type.len(), TYPES_MAX)?;
            Ok(Config {
                strategy: Strategy::required("strategy", wire.strategy)?,
                shadow: Strategy::optional("shadow", wire.shadow)?,
                predictor: PredictorKind::required("predictor", wire.predictor)?,
                weights: Weights {
                    wait: weights.wait,
                    load: weights.load,
                    priority: weights.priority,
                },
                priorities: wire.priorities.map_or_else(Priorities::default, |points| Priorities {
                    low: points.low,
                    normal: points.normal,
                    high: points.high,
                    critical: points.critical,
                }),
                retry_backoff: Backoff::optional("retry_backoff", wire.retry_backoff)?
                    .unwrap_or_default(),
                duration_by_type: wire
                    .duration_by_type
                    .iter()
                    .map(|entry| {
                        Ok((name("duration_by_type", &entry.r#type)?, Micros(entry.duration)))
                    })
                    .collect::<Result<_, Malformed>>()?,
                limits: limits_from_wire(&wire.limits)?,
                $($plain: wire.$plain,)+
                $($micros: Micros(wire.$micros),)+
            })
        }
    };
}

config_fields! {
    plain: rank_duration_percent, prefetch, prefetch_max, max_queue_per_worker, hold_max, retry_default,
        max_retry, max_crashes, hedge_budget_permille, fallback_threshold, drift_percent, jobs_max,
        payload_bytes_total_max, payload_bytes_max, throttle_percent, reject_percent, retain_jobs,
        hold_margin_percent, rank_path_percent, idempotency_max;
    micros: rank_priority_point, rank_bonus_max, prefetch_horizon, job_timeout_default, retry_base,
        retry_cap, heartbeat_interval, unreachable_after, stall_after, hedge_after, hedge_after_min,
        breaker_cooldown, duration_default, model_load_default, retain_for, idempotency_for,
        forget_workers_after;
}
