//! Attempts of a job: why each went where it went, what was expected and what happened.

use bellwether_core::model::JobNo;
use bellwether_wire::explained::{About, explained};
use bellwether_wire::{v1, words};
use rustc_hash::FxHashMap;

use crate::edges::desk::{Desk, Unanswered};

impl Desk {
    pub(super) async fn explained_attempts(
        &self,
        job: &v1::Job,
    ) -> Result<Vec<v1::ExplainedAttempt>, Unanswered> {
        let decisions = job.attempts.iter().filter_map(|attempt| attempt.decision.as_ref());
        let workers = self.worker_names(decisions).await?;
        let name = |no: u32| workers.get(&no).cloned().unwrap_or_else(|| format!("number {no}"));
        let spec = job.spec.clone().unwrap_or_default();
        let kind = spec.requirements.unwrap_or_default().r#type;
        let explain = |attempt: &v1::AttemptView| {
            let about = About {
                position: attempt.token,
                at: attempt.offered_at,
                job_id: spec.id.clone(),
                kind: kind.clone(),
                worker: attempt.worker.clone(),
                hedge: attempt.hedge,
            };
            let decision = attempt.decision.as_ref();
            v1::ExplainedAttempt {
                token: attempt.token,
                worker: attempt.worker.clone(),
                state: attempt.state,
                hedge: attempt.hedge,
                offered_at: attempt.offered_at,
                started_at: attempt.started_at,
                ended_at: attempt.ended_at,
                ending: words::ending(attempt),
                cause: attempt.cause,
                error: attempt.error.clone(),
                decision: decision.map(|decision| explained(about, decision, name)),
                actual_wait: span(attempt.offered_at, attempt.started_at),
                actual_duration: span(attempt.started_at, attempt.ended_at),
                revoked: attempt.revoked,
            }
        };
        Ok(job.attempts.iter().map(explain).collect())
    }

    /// The names of all workers that these decisions looked at.
    pub(super) async fn worker_names<'a>(
        &self,
        decisions: impl Iterator<Item = &'a v1::Decision>,
    ) -> Result<FxHashMap<u32, String>, Unanswered> {
        let mut numbers: Vec<u32> = decisions
            .flat_map(|decision| {
                let shadow = decision.shadow.as_ref().map(|shadow| shadow.worker);
                decision.losers.iter().map(|loser| loser.worker).chain(shadow)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.is_empty() {
            return Ok(FxHashMap::default());
        }
        let look = || self.registry.names(Vec::<JobNo>::new(), numbers.clone());
        let (_, mut names) = look().await?;
        if names.iter().any(String::is_empty) {
            // One that has just joined may not be written yet.
            self.registry.reach(self.handle.durable()).await?;
            (_, names) = look().await?;
        }
        let known = numbers.into_iter().zip(names).filter(|(_, name)| !name.is_empty());
        Ok(known.collect())
    }
}

/// Nothing if one of them has not happened.
fn span(from: u64, to: u64) -> u64 {
    if from == 0 { 0 } else { to.saturating_sub(from) }
}
