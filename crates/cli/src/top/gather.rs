//! What is looked at, once a second.

use bellwether_sdk::{Client, v1};

/// Of each list.
const JOBS_MAX: u32 = 50;
const DECISIONS_MAX: u32 = 30;
/// Jobs that waits are told by.
const ENDED_MAX: u32 = 200;

#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) at_micros: u64,
    pub(super) status: v1::StatusResponse,
    pub(super) workers: Vec<v1::Worker>,
    /// That have not ended, newest first.
    pub(super) jobs: Vec<v1::Job>,
    /// Newest first.
    pub(super) decisions: Vec<v1::ExplainedDecision>,
    /// Microseconds from submission to start of jobs that ended of late.
    pub(super) waits: Vec<u64>,
}

pub(super) async fn gather(client: &Client) -> anyhow::Result<Seen> {
    let open = [
        v1::JobState::Waiting,
        v1::JobState::Delayed,
        v1::JobState::Ready,
        v1::JobState::Offered,
        v1::JobState::Running,
    ];
    let states = open.map(|state| state as i32).to_vec();
    let open = v1::ListJobsRequest { states, limit: JOBS_MAX, ..Default::default() };
    let states = vec![v1::JobState::Completed as i32];
    let ended = v1::ListJobsRequest { states, limit: ENDED_MAX, ..Default::default() };
    let wanted = v1::ListDecisionsRequest { limit: DECISIONS_MAX, ..Default::default() };
    let waits = client.jobs(ended).await?.jobs.into_iter().filter_map(|job| {
        let started = Some(job.0.started_at).filter(|started| *started > 0)?;
        Some(started.saturating_sub(job.0.submitted_at))
    });
    let now = jiff::Timestamp::now().as_microsecond();
    Ok(Seen {
        at_micros: u64::try_from(now).unwrap_or_default(),
        status: client.status().await?,
        workers: client.workers(true).await?,
        jobs: client.jobs(open).await?.jobs.into_iter().map(|job| job.0).collect(),
        decisions: client.decisions(wanted).await?.decisions,
        waits: waits.collect(),
    })
}

impl Seen {
    pub(super) fn count(&self, states: &[v1::JobState]) -> u64 {
        let counted = self.status.jobs.iter().filter(|count| states.contains(&count.state()));
        counted.map(|count| count.count).sum()
    }

    /// Jobs that wait for anything.
    pub(super) fn queued(&self) -> u64 {
        self.count(&[v1::JobState::Waiting, v1::JobState::Delayed, v1::JobState::Ready])
    }

    pub(super) fn completed(&self) -> u64 {
        self.count(&[v1::JobState::Completed])
    }

    /// The wait that so many percent of the jobs that ended of late do not exceed.
    pub(super) fn wait(&self, percent: usize) -> u64 {
        let mut waits = self.waits.clone();
        waits.sort_unstable();
        let rank = (waits.len() * percent).div_ceil(100).max(1);
        waits.get(rank - 1).copied().unwrap_or(0)
    }
}
