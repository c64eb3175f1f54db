//! Why this worker: in short, and with everything that is needed to read a decision alone.

use serde::Serialize;
use utoipa::ToSchema;

use super::code::{Code, Reason, ScoreTerm, Strategy};
use super::unit::{Moment, moment, seconds, share, span, text};
use crate::decision::reason_kind;
use crate::v1;

/// Why this worker. Who lost against it is told by the explanation of the job.
#[derive(Debug, Serialize, ToSchema)]
pub struct Decision {
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
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

impl From<&bellwether_core::Decision> for Decision {
    fn from(decision: &bellwether_core::Decision) -> Decision {
        Decision {
            strategy: Some(Code(decision.strategy)),
            reason: Some(Code(reason_kind(decision.reason))),
            score: share(decision.score.0),
            predicted_wait: span(decision.predicted_wait),
            predicted_duration: span(decision.predicted_duration),
            confidence_percent: u32::from(decision.confidence_percent),
            fallback: decision.fallback,
            load_model: decision.load_model,
        }
    }
}

impl From<v1::Decision> for Decision {
    fn from(decision: v1::Decision) -> Decision {
        Decision {
            strategy: Code::from_wire(decision.strategy),
            reason: Code::known(decision.reason.unwrap_or_default().kind()),
            score: share(decision.score),
            predicted_wait: seconds(decision.predicted_wait),
            predicted_duration: seconds(decision.predicted_duration),
            confidence_percent: decision.confidence_percent,
            fallback: decision.fallback,
            load_model: decision.load_model,
        }
    }
}

/// A decision with everything that is needed to read it alone.
#[derive(Debug, Serialize, ToSchema)]
pub struct ExplainedDecision {
    /// Where it lies in the journal: the attempt's token.
    position: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    /// The id of the job.
    job: String,
    r#type: String,
    worker: String,
    hedge: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    strategy: Option<Strategy>,
    /// The predictor was out of order, so turns were taken.
    fallback: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    /// In a sentence.
    words: String,
    /// Seconds.
    predicted_wait: f64,
    /// Seconds, loading of the model included.
    predicted_duration: f64,
    confidence_percent: u32,
    /// Finished jobs behind the prediction.
    samples: u32,
    load_model: bool,
    /// The chosen one first, then the best others.
    candidates: Vec<Candidate>,
    /// How many were compared.
    compared: u32,
    /// What each term counts at most; absent if terms were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    weights: Option<Weights>,
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

/// Weights of the score.
#[derive(Debug, Clone, Copy, Serialize, serde::Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    #[schema(minimum = 0, maximum = 10)]
    pub(super) wait: f64,
    #[schema(minimum = 0, maximum = 10)]
    pub(super) load: f64,
    #[schema(minimum = 0, maximum = 10)]
    pub(super) priority: f64,
}

#[derive(Debug, Serialize, ToSchema)]
struct RunnerUp {
    worker: String,
    /// By how much its score was lower.
    behind: f64,
    /// The term that it lost most in.
    #[serde(skip_serializing_if = "Option::is_none")]
    term: Option<ScoreTerm>,
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
pub struct DecisionPage {
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

impl From<v1::Weights> for Weights {
    fn from(weights: v1::Weights) -> Weights {
        let share = |thousandths: u32| f64::from(thousandths) / 1e3;
        Weights {
            wait: share(weights.wait),
            load: share(weights.load),
            priority: share(weights.priority),
        }
    }
}

impl From<v1::ExplainedDecision> for ExplainedDecision {
    fn from(told: v1::ExplainedDecision) -> ExplainedDecision {
        let candidate = |candidate: v1::Candidate| Candidate {
            worker: candidate.worker,
            score: share(candidate.score),
            wait: share(candidate.wait),
            load: share(candidate.load),
            priority: share(candidate.priority),
            finish: seconds(candidate.finish),
        };
        ExplainedDecision {
            position: told.position,
            at: moment(told.at),
            job: told.job_id,
            r#type: told.r#type,
            worker: told.worker,
            hedge: told.hedge,
            strategy: Code::from_wire(told.strategy),
            fallback: told.fallback,
            reason: Code::known(told.reason.unwrap_or_default().kind()),
            words: told.words,
            predicted_wait: seconds(told.predicted_wait),
            predicted_duration: seconds(told.predicted_duration),
            confidence_percent: told.confidence_percent,
            samples: told.samples,
            load_model: told.load_model,
            candidates: told.candidates.into_iter().map(candidate).collect(),
            compared: told.compared,
            weights: told.weights.map(Weights::from),
            runner_up: told.runner_up.map(|second| RunnerUp {
                term: Code::known(second.term()),
                worker: second.worker,
                behind: share(second.behind),
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
