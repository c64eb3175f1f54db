//! What happens in the demo, and what is told of it afterwards.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether_sdk::{Client, v1};
use serde::Serialize;

use super::runs;
use crate::client::decision_in_words;

#[derive(Debug, Default)]
pub(super) struct Story {
    ids: Vec<String>,
    pub(super) counts: BTreeMap<v1::JobState, u64>,
    pub(super) workers: Vec<v1::Worker>,
}

#[derive(Debug, Serialize)]
pub(super) struct Summary {
    pub(super) jobs: usize,
    pub(super) completed: usize,
    /// Jobs that did not complete; a demo that goes well has none.
    pub(super) lost: usize,
    pub(super) took_s: f64,
    /// Attempts that ended with their worker and were made again.
    pub(super) recovered: usize,
    pub(super) by_worker: BTreeMap<String, usize>,
    pub(super) decision: String,
}

impl Story {
    pub(super) async fn submit(&mut self, client: &Client) -> anyhow::Result<()> {
        for run in runs::all() {
            self.ids.extend(client.submit_run(run).await?.ids);
        }
        Ok(())
    }

    pub(super) async fn look(&mut self, client: &Client) -> anyhow::Result<()> {
        let status = client.status().await?;
        self.counts = status.jobs.iter().map(|count| (count.state(), count.count)).collect();
        self.workers = client.workers(true).await?;
        Ok(())
    }

    pub(super) fn count(&self, states: &[v1::JobState]) -> u64 {
        states.iter().filter_map(|state| self.counts.get(state)).sum()
    }

    pub(super) fn jobs(&self) -> u64 {
        self.ids.len() as u64
    }

    pub(super) fn is_over(&self) -> bool {
        use v1::JobState as State;
        let open = [State::Waiting, State::Delayed, State::Ready, State::Offered, State::Running];
        !self.counts.is_empty() && self.count(&open) == 0
    }

    pub(super) async fn summary(&self, client: &Client, took: Duration) -> anyhow::Result<Summary> {
        let names: BTreeMap<u32, String> = client
            .workers(true)
            .await?
            .into_iter()
            .map(|worker| (worker.worker, worker.spec.unwrap_or_default().id))
            .collect();
        let mut summary = Summary {
            jobs: self.ids.len(),
            completed: 0,
            lost: 0,
            took_s: took.as_secs_f64(),
            recovered: 0,
            by_worker: BTreeMap::new(),
            decision: String::new(),
        };
        let mut best = (0, 0);
        for id in &self.ids {
            let job = client.job(id, 0).await?;
            let completed = job.state() == v1::JobState::Completed;
            if completed {
                summary.completed += 1
            } else {
                summary.lost += 1
            }
            for attempt in &job.0.attempts {
                let lost = attempt.cause() == v1::FailureCause::WorkerLost;
                summary.recovered += usize::from(lost && completed);
                if attempt.state() == v1::AttemptState::Completed {
                    *summary.by_worker.entry(attempt.worker.clone()).or_default() += 1;
                }
                // The decision with the most to choose from, made with confidence, tells the most.
                if let Some(decision) = &attempt.decision
                    && (decision.losers.len(), decision.confidence_percent) >= best
                {
                    best = (decision.losers.len(), decision.confidence_percent);
                    let name = |no| names.get(&no).cloned().unwrap_or_else(|| no.to_string());
                    let words = decision_in_words(&attempt.worker, decision, name);
                    summary.decision = format!("job {id}: {words}");
                }
            }
        }
        Ok(summary)
    }
}
