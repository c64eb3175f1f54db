//! Reasons as the tables spell them.

use bellwether_core::Reason;

pub(crate) fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::OnlyWorker => "only_worker",
        Reason::LeastLoaded { .. } => "least_loaded",
        Reason::ResourceFit { .. } => "resource_fit",
        Reason::DataLocality => "data_locality",
        Reason::PreviouslyExecuted => "previously_executed",
        Reason::SameZone => "same_zone",
        Reason::PredictedBest => "predicted_best",
        Reason::SparesFastSlots => "spares_fast_slots",
        Reason::NextInTurn => "next_in_turn",
        Reason::StableHash => "stable_hash",
        Reason::Hedge => "hedge",
    }
}
