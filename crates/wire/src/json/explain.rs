//! Explanations as JSON, as the command line prints them. REST renders the same messages with types
//! of its own, because its document is derived from them.
//!
//! Times are as 2027-01-31T08:00:00.5Z and null if they have not come; spans are milliseconds;
//! scores and shares are from 0 to 1.

use serde_json::{Value, json};

use crate::{v1, words};

pub fn explanation_to_json(told: &v1::Explanation) -> Value {
    let refused = told.refused.as_ref().map(|refused| {
        let rejection = refused.rejection.clone().unwrap_or_default();
        json!({
            "at": time(refused.at),
            "code": rejection.code,
            "message": rejection.message,
            "retry_after_ms": millis(rejection.retry_after),
        })
    });
    json!({
        "id": told.id,
        "known": told.job != 0,
        "number": told.job,
        "state": words::state(told.state()),
        "detail": words::detail(told.state()),
        "type": optional(&told.r#type),
        "run": optional(&told.run_id),
        "summary": told.summary,
        "waiting_for": told.waiting_for.as_ref().map(waiting_to_json),
        "attempts": told.attempts.iter().map(attempt_to_json).collect::<Vec<_>>(),
        "refused": refused,
        "submitted_at": time(told.submitted_at),
        "started_at": time(told.started_at),
        "ended_at": time(told.ended_at),
        "now": time(told.now),
        "position": told.position,
    })
}

fn waiting_to_json(waiting: &v1::WaitingFor) -> Value {
    let open = waiting
        .dependencies
        .iter()
        .map(|open| json!({ "id": open.id, "state": words::state(open.state()) }));
    let nearest = waiting.nearest.as_ref().map(|nearest| {
        let lacks = nearest.lacks.iter().map(|lack| {
            json!({
                "what": lack.what,
                "name": optional(&lack.name),
                "wanted": number(lack.wanted, lack.wanted > 0),
                "has": number(lack.has, lack.wanted > 0),
            })
        });
        json!({
            "worker": nearest.worker,
            "lacks": lacks.collect::<Vec<_>>(),
            "available_at": time(nearest.available_at),
        })
    });
    json!({
        "reason": waiting.reason,
        "dependencies": open.collect::<Vec<_>>(),
        "until": time(waiting.until),
        "paused_type": optional(&waiting.paused_type),
        "receiver": optional(&waiting.receiver),
        "workers": waiting.workers,
        "able": waiting.able,
        "draining": waiting.draining,
        "overloaded": waiting.overloaded,
        "unreachable": waiting.unreachable,
        "nearest": nearest,
        "ahead": waiting.ahead,
        "ahead_in_class": waiting.ahead_in_class,
        "expected_start": time(waiting.expected_start),
        "ended_attempts": waiting.ended_attempts,
    })
}

fn attempt_to_json(attempt: &v1::ExplainedAttempt) -> Value {
    let ended = attempt.ended_at > 0;
    json!({
        "token": attempt.token,
        "worker": attempt.worker,
        "state": attempt.state,
        "hedge": attempt.hedge,
        "offered_at": time(attempt.offered_at),
        "started_at": time(attempt.started_at),
        "ended_at": time(attempt.ended_at),
        "ending": optional(&attempt.ending),
        "cause": words::cause(attempt.cause()),
        "revoked": words::revoked(attempt.revoked()),
        "error": optional(&attempt.error),
        "actual_wait_ms": (attempt.started_at > 0).then(|| millis(attempt.actual_wait)),
        "actual_duration_ms":
            (ended && attempt.started_at > 0).then(|| millis(attempt.actual_duration)),
        "decision": attempt.decision.as_ref().map(decision_to_json),
    })
}

pub fn decisions_to_json(found: &v1::ListDecisionsResponse) -> Value {
    json!({
        "decisions": found.decisions.iter().map(decision_to_json).collect::<Vec<_>>(),
        "next_cursor": optional(&found.next_cursor),
    })
}

pub fn decision_to_json(decision: &v1::ExplainedDecision) -> Value {
    let split = decision.weights.is_some();
    let candidates = decision.candidates.iter().enumerate().map(|(rank, candidate)| {
        let terms = split.then(|| {
            json!({
                "wait": share(candidate.wait),
                "load": share(candidate.load),
                "priority": share(candidate.priority),
            })
        });
        json!({
            "worker": candidate.worker,
            "chosen": rank == 0,
            "score": share(candidate.score),
            "terms": terms,
            "finish_ms": (candidate.finish > 0).then(|| millis(candidate.finish)),
        })
    });
    let weights = decision.weights.map(|weights| {
        json!({
            "wait": f64::from(weights.wait) / 1e3,
            "load": f64::from(weights.load) / 1e3,
            "priority": f64::from(weights.priority) / 1e3,
        })
    });
    let runner_up = decision.runner_up.as_ref().map(|second| {
        json!({
            "worker": second.worker,
            "behind": share(second.behind),
            "term": optional(&second.term),
        })
    });
    let shadow = decision.shadow.as_ref().map(|shadow| {
        json!({
            "worker": shadow.worker,
            "agrees": shadow.agrees,
            "finish_ms": millis(shadow.finish),
            "live_finish_ms": millis(shadow.live_finish),
            "round_robin_finish_ms": millis(shadow.round_robin_finish),
        })
    });
    let reason = decision.reason.unwrap_or_default();
    json!({
        "position": decision.position,
        "at": time(decision.at),
        "job": decision.job_id,
        "type": optional(&decision.r#type),
        "worker": decision.worker,
        "hedge": decision.hedge,
        "strategy": words::strategy(decision.strategy()),
        "fallback": decision.fallback,
        "reason": words::reason_code(reason.kind()),
        "words": decision.words,
        "predicted": {
            "wait_ms": millis(decision.predicted_wait),
            "duration_ms": millis(decision.predicted_duration),
            "confidence": f64::from(decision.confidence_percent) / 1e2,
            "samples": decision.samples,
        },
        "load_model": decision.load_model,
        "candidates": candidates.collect::<Vec<_>>(),
        "compared": decision.compared,
        "weights": weights,
        "runner_up": runner_up,
        "shadow": shadow,
    })
}

pub fn predictions_to_json(known: &v1::PredictionsResponse) -> Value {
    let types = known.types.iter().map(|known| {
        let classes = known.classes.iter().map(|class| {
            json!({
                "class": class.class,
                "estimate_ms": millis(class.estimate),
                "confidence": f64::from(class.confidence_percent) / 1e2,
                "samples": class.samples,
            })
        });
        json!({
            "type": known.r#type,
            "estimate_ms": millis(known.estimate),
            "confidence": f64::from(known.confidence_percent) / 1e2,
            "samples": known.samples,
            "judged": known.judged,
            "within_25_percent": f64::from(known.within_25_permille) / 1e3,
            "recent_error": f64::from(known.recent_error_percent) / 1e2,
            "usual_error": f64::from(known.usual_error_percent) / 1e2,
            "drifting": known.drifting,
            "classes": classes.collect::<Vec<_>>(),
        })
    });
    json!({
        "predictor": words::predictor(known.predictor()),
        "breaker": known.breaker,
        "types": types.collect::<Vec<_>>(),
        "more": known.more,
    })
}

pub fn shadow_report_to_json(report: &v1::ShadowReportResponse) -> Value {
    let permille = |value: i32| f64::from(value) / 1e3;
    json!({
        "live": words::strategy(report.live()),
        "shadow": words::strategy(report.shadow()),
        "decisions": report.decisions,
        "agreed": report.agreed,
        "agreement": f64::from(report.agreement_permille) / 1e3,
        "predicted_finish_ms": {
            "live": millis(report.live_finish),
            "shadow": millis(report.shadow_finish),
            "round_robin": millis(report.round_robin_finish),
        },
        "gain_over_round_robin": {
            "live": permille(report.live_gain_permille),
            "shadow": permille(report.shadow_gain_permille),
        },
        "shadow_gain_over_live": permille(report.shadow_over_live_permille),
    })
}

fn time(micros: u64) -> Value {
    let known = i64::try_from(micros).ok().filter(|micros| *micros > 0);
    let time = known.and_then(|micros| jiff::Timestamp::from_microsecond(micros).ok());
    time.map_or(Value::Null, |time| Value::String(time.to_string()))
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1e3
}

fn share(millionths: i64) -> f64 {
    millionths as f64 / 1e6
}

fn optional(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { json!(text) }
}

fn number(value: u64, known: bool) -> Value {
    if known { json!(value) } else { Value::Null }
}
