//! How good predictions are, and how another policy would have done.

use serde::Serialize;
use utoipa::ToSchema;

use super::code::{Breaker, Code, Predictor, Strategy};
use super::unit::seconds;
use crate::v1;

/// How long jobs are expected to take, and how good such predictions have been.
#[derive(Debug, Serialize, ToSchema)]
pub struct Predictions {
    #[serde(skip_serializing_if = "Option::is_none")]
    predictor: Option<Predictor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker: Option<Breaker>,
    /// By name; at most 1000.
    types: Vec<TypePrediction>,
    /// There are more types.
    more: bool,
}

#[derive(Debug, Serialize, ToSchema)]
struct TypePrediction {
    r#type: String,
    /// Seconds, for a job of no known sender or size, on average over workers.
    estimate: f64,
    confidence_percent: u32,
    /// Finished jobs behind it.
    samples: u32,
    /// Predictions that jobs were placed by.
    judged: u32,
    /// The share of them that was within 25% of the actual duration.
    within_25_percent: f64,
    /// 100 is a factor of two in either direction: over the last few jobs.
    recent_error_percent: u32,
    usual_error_percent: u32,
    /// Its predictions have become worse than they usually are.
    drifting: bool,
    classes: Vec<ClassPrediction>,
}

/// On the workers of one class.
#[derive(Debug, Serialize, ToSchema)]
struct ClassPrediction {
    class: String,
    /// Seconds.
    estimate: f64,
    confidence_percent: u32,
    samples: u32,
}

impl From<v1::PredictionsResponse> for Predictions {
    fn from(told: v1::PredictionsResponse) -> Predictions {
        Predictions {
            predictor: Code::from_wire(told.predictor),
            breaker: Code::from_wire(told.breaker),
            types: told.types.into_iter().map(TypePrediction::from).collect(),
            more: told.more,
        }
    }
}

impl From<v1::TypePrediction> for TypePrediction {
    fn from(told: v1::TypePrediction) -> TypePrediction {
        let class = |told: v1::ClassPrediction| ClassPrediction {
            class: told.class,
            estimate: seconds(told.estimate),
            confidence_percent: told.confidence_percent,
            samples: told.samples,
        };
        TypePrediction {
            r#type: told.r#type,
            estimate: seconds(told.estimate),
            confidence_percent: told.confidence_percent,
            samples: told.samples,
            judged: told.judged,
            within_25_percent: f64::from(told.within_25_permille) / 1e3,
            recent_error_percent: told.recent_error_percent,
            usual_error_percent: told.usual_error_percent,
            drifting: told.drifting,
            classes: told.classes.into_iter().map(class).collect(),
        }
    }
}

/// How another policy would have placed the same jobs. Spans are seconds, gains are shares.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShadowReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<Strategy>,
    /// Absent if none is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<Strategy>,
    /// Since the shadow strategy was last changed.
    decisions: u64,
    agreed: u64,
    agreement: f64,
    /// Means of the time from decision to result, as predicted.
    live_finish: f64,
    shadow_finish: f64,
    round_robin_finish: f64,
    /// How much sooner than under round-robin.
    live_gain: f64,
    shadow_gain: f64,
    /// How much sooner the shadow's choices would be done than the live ones.
    shadow_over_live: f64,
}

impl From<v1::ShadowReportResponse> for ShadowReport {
    fn from(told: v1::ShadowReportResponse) -> ShadowReport {
        let share = |permille: i32| f64::from(permille) / 1e3;
        ShadowReport {
            live: Code::from_wire(told.live),
            shadow: Code::from_wire(told.shadow),
            decisions: told.decisions,
            agreed: told.agreed,
            agreement: f64::from(told.agreement_permille) / 1e3,
            live_finish: seconds(told.live_finish),
            shadow_finish: seconds(told.shadow_finish),
            round_robin_finish: seconds(told.round_robin_finish),
            live_gain: share(told.live_gain_permille),
            shadow_gain: share(told.shadow_gain_permille),
            shadow_over_live: share(told.shadow_over_live_permille),
        }
    }
}
