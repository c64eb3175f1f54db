//! One decision, with names instead of numbers and its scores split into their terms.

use crate::{v1, words};

/// What a recorded decision does not say of itself.
#[derive(Debug, Clone, Default)]
pub struct About {
    pub position: u64,
    pub at: u64,
    pub job_id: String,
    pub kind: String,
    pub worker: String,
    pub hedge: bool,
}

/// `name` tells the ids of workers.
pub fn explained(
    about: About,
    decision: &v1::Decision,
    name: impl Fn(u32) -> String,
) -> v1::ExplainedDecision {
    let basis = decision.basis.unwrap_or_default();
    let weights = basis.weights.unwrap_or_default();
    let chosen = v1::Candidate {
        worker: about.worker.clone(),
        finish: decision.predicted_wait + decision.predicted_duration,
        ..terms(decision.score, basis.wait, basis.load, &weights)
    };
    let others = decision.losers.iter().map(|loser| v1::Candidate {
        worker: name(loser.worker),
        finish: loser.finish,
        ..terms(loser.score, loser.wait, loser.load, &weights)
    });
    let candidates: Vec<_> = std::iter::once(chosen).chain(others).collect();
    let runner_up = match &candidates[..] {
        [chosen, second, ..] => Some(runner_up(chosen, second)),
        _ => None,
    };
    let shadow = decision.shadow.as_ref().map(|shadow| {
        let worker = name(shadow.worker);
        v1::ShadowChoice {
            agrees: worker == about.worker,
            worker,
            finish: shadow.predicted_finish,
            live_finish: shadow.live_finish,
            round_robin_finish: shadow.round_robin_finish,
        }
    });
    let mut explained = v1::ExplainedDecision {
        position: about.position,
        at: about.at,
        job_id: about.job_id,
        r#type: about.kind,
        worker: about.worker,
        hedge: about.hedge,
        strategy: decision.strategy,
        fallback: decision.fallback,
        reason: decision.reason,
        words: String::new(),
        predicted_wait: decision.predicted_wait,
        predicted_duration: decision.predicted_duration,
        confidence_percent: decision.confidence_percent,
        samples: basis.samples,
        load_model: decision.load_model,
        candidates,
        compared: basis.candidates,
        runner_up,
        shadow,
        weights: basis.weights,
    };
    explained.words = words::decision(&explained);
    explained
}

/// Terms count with their weights; what is left of the score is the job's priority.
fn terms(score: i64, wait: u32, load: u32, weights: &v1::Weights) -> v1::Candidate {
    let weighted = |term: u32, weight: u32| i64::from(term) * i64::from(weight) / 1_000;
    let (wait, load) = (weighted(wait, weights.wait), weighted(load, weights.load));
    let recorded = *weights != v1::Weights::default();
    let priority = if recorded { score - wait - load } else { 0 };
    v1::Candidate { score, wait, load, priority, ..Default::default() }
}

fn runner_up(chosen: &v1::Candidate, second: &v1::Candidate) -> v1::RunnerUp {
    let lost = [
        (v1::ScoreTerm::Wait, chosen.wait - second.wait),
        (v1::ScoreTerm::Load, chosen.load - second.load),
    ];
    let worst = lost.into_iter().max_by_key(|(_, by)| *by).filter(|(_, by)| *by > 0);
    v1::RunnerUp {
        worker: second.worker.clone(),
        behind: chosen.score - second.score,
        term: worst.map_or(0, |(term, _)| term.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_add_up_to_the_score_and_name_where_the_second_lost() {
        let weights = v1::Weights { wait: 400, load: 400, priority: 200 };
        let decision = v1::Decision {
            score: 850_000,
            losers: vec![v1::Loser {
                worker: 2,
                score: 690_000,
                finish: 9,
                wait: 600_000,
                load: 875_000,
            }],
            basis: Some(v1::Basis {
                weights: Some(weights),
                wait: 1_000_000,
                load: 875_000,
                priority: 500_000,
                samples: 3,
                candidates: 2,
            }),
            ..Default::default()
        };
        let about = About { worker: "w1".to_owned(), ..About::default() };
        let explained = explained(about, &decision, |no| format!("w{no}"));
        for candidate in &explained.candidates {
            assert_eq!(candidate.wait + candidate.load + candidate.priority, candidate.score);
            assert_eq!(candidate.priority, 100_000);
        }
        let second = explained.runner_up.expect("there were two");
        assert_eq!(
            (second.worker.as_str(), second.behind, second.term().as_str()),
            ("w2", 160_000, "wait")
        );
    }
}
