//! How the scheduler is.

use std::collections::{BTreeMap, BTreeSet};

use bellwether_core::model::{JobNo, JobStatus, Seq, WorkerStatus};
use bellwether_wire::{Mirror as _, v1};

use super::{Desk, Unanswered};
use crate::event_loop::{Unavailable, View};

impl Desk {
    pub(crate) async fn status(&self) -> Result<v1::StatusResponse, Unanswered> {
        let mut seen = self.handle.ask(status).await?;
        seen.role = self.members.role().into();
        let list = self.members.list(Seq(seen.position));
        seen.behind = list.committed - list.applied;
        if let Some(leader) = self.members.leader() {
            seen.leader = leader.grpc;
            seen.epoch = leader.epoch.0;
        }
        if self.disk.is_exceeded() && !seen.read_only {
            (seen.read_only, seen.explanation) = (true, Unavailable::DiskMax.to_string());
        }
        if let Some(lag) = self.registry.lag_events(self.handle.durable())
            && seen.explanation.is_empty()
        {
            seen.explanation = format!(
                "the history can't keep up: {lag} events are not in it yet, and the journal is kept \
                 until they are"
            );
        }
        seen.jobs.extend(self.registry.ended_counts().await?.into_iter().filter(|c| c.count > 0));
        Ok(seen)
    }
}

fn status(view: &View<'_>) -> v1::StatusResponse {
    let state = view.state;
    let config = state.config();
    let present = || state.workers().filter(|(_, w)| w.status != WorkerStatus::Unreachable);
    let filled = u128::from(state.totals().live) * 100 / u128::from(config.jobs_max.max(1));
    v1::StatusResponse {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        role: v1::SchedulerRole::Alone.into(),
        leader: String::new(),
        behind: 0,
        epoch: view.epoch.0,
        position: view.durable.seq.0,
        chain: view.durable.chain.0.to_vec().into(),
        started_at: view.started_at.0,
        jobs: counts(view),
        workers: u32::try_from(present().count()).unwrap_or(u32::MAX),
        slots: present().map(|(_, worker)| worker.spec.slots).sum(),
        slots_used: present().map(|(_, w)| u32::try_from(w.held.len()).unwrap_or(u32::MAX)).sum(),
        filled_percent: u32::try_from(filled).unwrap_or(u32::MAX),
        strategy: config.strategy.to_wire(),
        predictor: config.predictor.to_wire(),
        breaker: state.breaker().state(view.now).to_wire(),
        paused_types: state.paused().iter().map(ToString::to_string).collect(),
        config_version: state.config_version(),
        read_only: view.disk_full,
        explanation: if view.disk_full {
            "the disk is full; new work is refused until there is space".to_owned()
        } else {
            String::new()
        },
    }
}

/// Jobs that have not ended, without a look at each, because they may be a million.
fn counts(view: &View<'_>) -> Vec<v1::StateCount> {
    let state = view.state;
    let held = state.workers().flat_map(|(_, worker)| &worker.held).map(|attempt| attempt.job);
    let active: BTreeSet<JobNo> = held.collect();
    let active = active.into_iter().filter_map(|no| state.job(no));
    let mut counts = BTreeMap::new();
    for job in active.filter(|job| !job.state.has_ended()) {
        *counts.entry(job.state.status()).or_insert(0) += 1;
    }
    counts.insert(JobStatus::Ready, state.ready_jobs());
    counts.insert(JobStatus::Delayed, state.delayed_jobs());
    let elsewhere: u64 = counts.values().sum();
    counts.insert(JobStatus::Waiting, state.totals().live.saturating_sub(elsewhere));
    counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| v1::StateCount { state: status.to_wire(), count })
        .collect()
}
