//! Why this worker.

use bellwether_core::model::Strategy;
use bellwether_wire::v1::reason::Kind;
use bellwether_wire::{Mirror as _, v1};
use serde::Serialize;
use utoipa::ToSchema;

use super::seconds;

/// Why this worker. Who lost against it is told by the explanation of the job.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Decision {
    strategy: Option<&'static str>,
    reason: &'static str,
    score: f64,
    /// Seconds.
    predicted_wait: f64,
    /// Seconds, loading of the model included.
    predicted_duration: f64,
    confidence_percent: u32,
    /// The predictor was out of order, so turns were taken.
    fallback: bool,
    /// The model had to be loaded first.
    load_model: bool,
}

impl From<v1::Decision> for Decision {
    fn from(decision: v1::Decision) -> Decision {
        Decision {
            strategy: Strategy::from_wire(decision.strategy).map(Strategy::as_str),
            reason: reason(decision.reason.unwrap_or_default().kind()),
            score: decision.score as f64 / 1e6,
            predicted_wait: seconds(decision.predicted_wait),
            predicted_duration: seconds(decision.predicted_duration),
            confidence_percent: decision.confidence_percent,
            fallback: decision.fallback,
            load_model: decision.load_model,
        }
    }
}

pub(super) fn reason(kind: Kind) -> &'static str {
    match kind {
        Kind::Unspecified => "unknown",
        Kind::OnlyWorker => "only_worker",
        Kind::LeastLoaded => "least_loaded",
        Kind::ResourceFit => "resource_fit",
        Kind::DataLocality => "data_locality",
        Kind::PreviouslyExecuted => "previously_executed",
        Kind::SameZone => "same_zone",
        Kind::PredictedBest => "predicted_best",
        Kind::NextInTurn => "next_in_turn",
        Kind::StableHash => "stable_hash",
        Kind::Hedge => "hedge",
        Kind::SparesFastSlots => "spares_fast_slots",
    }
}
