//! Decisions, with everything that is needed to read one alone.

use bellwether_core::model::Strategy;
use bellwether_wire::{Mirror as _, v1};
use serde::Serialize;
use utoipa::ToSchema;

use super::decision::reason;
use super::job::text;
use super::{moment, seconds};

/// A decision with everything that is needed to read it alone.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct ExplainedDecision {
    /// Where it lies in the journal: the attempt's token.
    position: u64,
    #[schema(format = "date-time")]
    at: Option<String>,
    job: String,
    r#type: String,
    worker: String,
    hedge: bool,
    strategy: Option<&'static str>,
    /// The predictor was out of order, so turns were taken.
    fallback: bool,
    reason: &'static str,
    /// In a sentence.
    words: String,
    /// Seconds.
    predicted_wait: f64,
    /// Seconds.
    predicted_duration: f64,
    confidence_percent: u32,
    /// Finished jobs behind the prediction.
    samples: u32,
    load_model: bool,
    /// The chosen one first, then the best others.
    candidates: Vec<Candidate>,
    /// How many were compared.
    compared: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    runner_up: Option<RunnerUp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadow: Option<ShadowChoice>,
}

/// A worker that was compared. The terms are weighted: they add up to the score.
#[derive(Debug, Serialize, ToSchema)]
struct Candidate {
    worker: String,
    score: f64,
    wait: f64,
    load: f64,
    priority: f64,
    /// Seconds from the decision until it would be done.
    finish: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct RunnerUp {
    worker: String,
    /// By how much its score was lower.
    behind: f64,
    /// The term that it lost most in: wait or load.
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<String>,
}

/// What the shadow policy would have done. Spans are seconds.
#[derive(Debug, Serialize, ToSchema)]
struct ShadowChoice {
    worker: String,
    agrees: bool,
    finish: f64,
    live_finish: f64,
    round_robin_finish: f64,
}

/// Some of the decisions, newest first.
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct DecisionPage {
    decisions: Vec<ExplainedDecision>,
    /// Ask again with this as `cursor` for older ones; absent after the last. A page may be short
    /// and yet have a next one.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

impl From<v1::ListDecisionsResponse> for DecisionPage {
    fn from(page: v1::ListDecisionsResponse) -> DecisionPage {
        DecisionPage {
            decisions: page.decisions.into_iter().map(ExplainedDecision::from).collect(),
            next_cursor: text(page.next_cursor),
        }
    }
}

impl From<v1::ExplainedDecision> for ExplainedDecision {
    fn from(told: v1::ExplainedDecision) -> ExplainedDecision {
        let millionths = |score: i64| score as f64 / 1e6;
        let candidate = |candidate: v1::Candidate| Candidate {
            worker: candidate.worker,
            score: millionths(candidate.score),
            wait: millionths(candidate.wait),
            load: millionths(candidate.load),
            priority: millionths(candidate.priority),
            finish: seconds(candidate.finish),
        };
        ExplainedDecision {
            position: told.position,
            at: moment(told.at),
            job: told.job_id,
            r#type: told.r#type,
            worker: told.worker,
            hedge: told.hedge,
            strategy: Strategy::from_wire(told.strategy).map(Strategy::as_str),
            fallback: told.fallback,
            reason: reason(told.reason.unwrap_or_default().kind()),
            words: told.words,
            predicted_wait: seconds(told.predicted_wait),
            predicted_duration: seconds(told.predicted_duration),
            confidence_percent: told.confidence_percent,
            samples: told.samples,
            load_model: told.load_model,
            candidates: told.candidates.into_iter().map(candidate).collect(),
            compared: told.compared,
            runner_up: told.runner_up.map(|second| RunnerUp {
                worker: second.worker,
                behind: millionths(second.behind),
                term: text(second.term),
            }),
            shadow: told.shadow.map(|shadow| ShadowChoice {
                worker: shadow.worker,
                agrees: shadow.agrees,
                finish: seconds(shadow.finish),
                live_finish: seconds(shadow.live_finish),
                round_robin_finish: seconds(shadow.round_robin_finish),
            }),
        }
    }
}
