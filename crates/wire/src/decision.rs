//! Decisions, with their reasons.

use bellwether_core::event::{Basis, Loser, Score, Shadow, Terms};
use bellwether_core::model::config::Weights;
use bellwether_core::model::limits::LABELS_MAX;
use bellwether_core::model::{Micros, Strategy, WorkerNo};
use bellwether_core::{Decision, Reason};

use crate::malformed::{Malformed, at_most};
use crate::v1::reason::Kind;
use crate::{Mirror, v1};

pub fn decision_to_wire(decision: &Decision) -> v1::Decision {
    v1::Decision {
        strategy: decision.strategy.to_wire(),
        fallback: decision.fallback,
        score: decision.score.0,
        predicted_wait: decision.predicted_wait.0,
        predicted_duration: decision.predicted_duration.0,
        confidence_percent: u32::from(decision.confidence_percent),
        load_model: decision.load_model,
        reason: Some(reason_to_wire(decision.reason)),
        losers: decision.losers.iter().map(loser_to_wire).collect(),
        shadow: decision.shadow.map(|shadow| v1::Shadow {
            worker: shadow.worker.0,
            predicted_finish: shadow.predicted_finish.0,
            live_finish: shadow.live_finish.0,
            round_robin_finish: shadow.round_robin_finish.0,
            round_robin: shadow.round_robin.map_or(0, |worker| worker.0),
        }),
        basis: decision.basis.as_ref().map(basis_to_wire),
    }
}

fn loser_to_wire(loser: &Loser) -> v1::Loser {
    v1::Loser {
        worker: loser.worker.0,
        score: loser.score.0,
        finish: loser.finish.0,
        wait: share(loser.terms.wait),
        load: share(loser.terms.load),
    }
}

fn basis_to_wire(basis: &Basis) -> v1::Basis {
    let Weights { wait, load, priority } = basis.weights;
    v1::Basis {
        weights: Some(v1::Weights { wait, load, priority }),
        wait: share(basis.terms.wait),
        load: share(basis.terms.load),
        priority: share(basis.priority),
        samples: basis.samples,
        candidates: basis.candidates,
    }
}

/// A term is from 0 to a million; what is not fits no term.
pub fn share(term: Score) -> u32 {
    u32::try_from(term.0).unwrap_or(0)
}

fn basis_from_wire(wire: &v1::Basis) -> Result<Basis, Malformed> {
    let weights = wire.weights.ok_or_else(|| Malformed::missing("basis.weights"))?;
    let v1::Weights { wait, load, priority } = weights;
    Ok(Basis {
        weights: Weights { wait, load, priority },
        terms: terms(wire.wait, wire.load),
        priority: Score(i64::from(wire.priority)),
        samples: wire.samples,
        candidates: wire.candidates,
    })
}

fn terms(wait: u32, load: u32) -> Terms {
    Terms { wait: Score(i64::from(wait)), load: Score(i64::from(load)) }
}

pub fn decision_from_wire(wire: &v1::Decision) -> Result<Decision, Malformed> {
    at_most("losers", wire.losers.len(), LABELS_MAX)?;
    let confidence_percent = u8::try_from(wire.confidence_percent).map_err(|_| {
        Malformed::not_allowed("confidence_percent", wire.confidence_percent, "at most 100")
    })?;
    let reason = wire.reason.as_ref().ok_or_else(|| Malformed::missing("reason"))?;
    Ok(Decision {
        strategy: Strategy::required("strategy", wire.strategy)?,
        fallback: wire.fallback,
        score: Score(wire.score),
        predicted_wait: Micros(wire.predicted_wait),
        predicted_duration: Micros(wire.predicted_duration),
        confidence_percent,
        load_model: wire.load_model,
        reason: reason_from_wire(reason)?,
        losers: wire
            .losers
            .iter()
            .map(|loser| Loser {
                worker: WorkerNo(loser.worker),
                score: Score(loser.score),
                finish: Micros(loser.finish),
                terms: terms(loser.wait, loser.load),
            })
            .collect(),
        shadow: wire.shadow.as_ref().map(|shadow| Shadow {
            worker: WorkerNo(shadow.worker),
            predicted_finish: Micros(shadow.predicted_finish),
            live_finish: Micros(shadow.live_finish),
            round_robin_finish: Micros(shadow.round_robin_finish),
            round_robin: (shadow.round_robin > 0).then_some(WorkerNo(shadow.round_robin)),
        }),
        basis: wire.basis.as_ref().map(basis_from_wire).transpose()?,
    })
}

pub fn reason_to_wire(reason: Reason) -> v1::Reason {
    let plain = |kind: Kind| v1::Reason { kind: kind as i32, ..Default::default() };
    match reason {
        Reason::OnlyWorker => plain(Kind::OnlyWorker),
        Reason::LeastLoaded { depth } => v1::Reason { depth, ..plain(Kind::LeastLoaded) },
        Reason::ResourceFit { free_cpu, required_cpu, free_memory, required_memory } => {
            let kind = Kind::ResourceFit as i32;
            v1::Reason { kind, depth: 0, free_cpu, required_cpu, free_memory, required_memory }
        }
        Reason::DataLocality => plain(Kind::DataLocality),
        Reason::PreviouslyExecuted => plain(Kind::PreviouslyExecuted),
        Reason::SameZone => plain(Kind::SameZone),
        Reason::PredictedBest => plain(Kind::PredictedBest),
        Reason::NextInTurn => plain(Kind::NextInTurn),
        Reason::StableHash => plain(Kind::StableHash),
        Reason::Hedge => plain(Kind::Hedge),
        Reason::SparesFastSlots => plain(Kind::SparesFastSlots),
        Reason::NotWhereItFailed => plain(Kind::NotWhereItFailed),
        Reason::ToLearn => plain(Kind::ToLearn),
    }
}

/// Without what it rests on.
pub fn reason_kind(reason: Reason) -> Kind {
    reason_to_wire(reason).kind()
}

fn reason_from_wire(wire: &v1::Reason) -> Result<Reason, Malformed> {
    let v1::Reason { kind, depth, free_cpu, required_cpu, free_memory, required_memory } = *wire;
    let unknown =
        || Malformed::not_allowed("reason.kind", kind, "it must be a reason from 1 to 13");
    Ok(match Kind::try_from(kind).map_err(|_| unknown())? {
        Kind::Unspecified => return Err(Malformed::missing("reason.kind")),
        Kind::OnlyWorker => Reason::OnlyWorker,
        Kind::LeastLoaded => Reason::LeastLoaded { depth },
        Kind::ResourceFit => {
            Reason::ResourceFit { free_cpu, required_cpu, free_memory, required_memory }
        }
        Kind::DataLocality => Reason::DataLocality,
        Kind::PreviouslyExecuted => Reason::PreviouslyExecuted,
        Kind::SameZone => Reason::SameZone,
        Kind::PredictedBest => Reason::PredictedBest,
        Kind::NextInTurn => Reason::NextInTurn,
        Kind::StableHash => Reason::StableHash,
        Kind::Hedge => Reason::Hedge,
        Kind::SparesFastSlots => Reason::SparesFastSlots,
        Kind::NotWhereItFailed => Reason::NotWhereItFailed,
        Kind::ToLearn => Reason::ToLearn,
    })
}
